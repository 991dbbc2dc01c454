// What commands refuse before they begin, outputs that cannot be written and options that contradict each other; and
// options that change one another's meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>

#include "apps/ingle/exit_code.h"
#include "apps/ingle/files.h"
#include "tests/apps/command_run.h"
#include "tests/models/scripted_model.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;
using testing::Not;

// A folder with a model in it.
class CommandChecks : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ingle_checks_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    test::write_scripted_model(model(), test::thinking_script());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string model() const { return path("model"); }

 private:
  std::filesystem::path folder_;
};

TEST_F(CommandChecks, AnImportanceFileThatCannotBeWrittenIsNoticedBeforeTheTextIsRead) {
  const std::string absent = path("absent"), out = path("absent/out.gguf");
  EXPECT_EQ(test::run_command("imatrix", {model(), "-f", absent, "-o", out}).error,
            out + ": No such file or directory");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(test::run_command("imatrix", {model(), "-f", absent, "-o", path("folder")}).error,
            path("folder") + ": exists and is not a regular file");
}

TEST_F(CommandChecks, AStateThatCannotBeWrittenIsNoticedBeforeTheAnswer) {
  const std::string state = path("absent/state");
  const test::CommandRun run = test::run_command("run", {model(), "-p", "Hi", "-t", "1", "--save-state", state});
  EXPECT_EQ(run.error, state + ": No such file or directory");
  EXPECT_EQ(run.out, "");
}

TEST_F(CommandChecks, ATextTooShortForKlIsNoticedBeforeQuantizing) {
  write_file(path("text"), "ten tokens");
  const auto quantize = [&] {
    return test::run_command("quantize", {model(), path("q"), "--type", "q8_0", "-t", "1", "--kl-text", path("text")});
  };
  EXPECT_EQ(quantize().error, "the text has 10 tokens, a window 128; give --kl-text a longer one");
  EXPECT_FALSE(std::filesystem::exists(path("q")));
  write_file(path("text"), std::string(128, 'a'));
  EXPECT_THAT(quantize().out, HasSubstr("KL"));
}

TEST_F(CommandChecks, AskingWhetherAFileCanBeWrittenLeavesEverythingAsItWas) {
  write_file(path("old"), "old");
  require_writable(path("old"));
  require_writable(path("new"));
  EXPECT_EQ(read_file(path("old")), "old");
  EXPECT_FALSE(std::filesystem::exists(path("new")));
}

TEST_F(CommandChecks, JsonIsJsonWhicheverPartIsAskedFor) {
  const auto json = [&](const char* command, std::vector<std::string> words) {
    words.emplace_back("--json");
    const test::CommandRun run = test::run_command(command, words);
    EXPECT_EQ(run.error, "") << command;
    return boost::json::parse(run.out).as_object();
  };
  EXPECT_EQ(json("tokenize", {model(), "-p", "ab", "--count"}), (boost::json::object{{"count", 2}, {"bytes", 2}}));
  EXPECT_EQ(json("tokenize", {model(), "-p", "ab", "--ids"}),
            (boost::json::object{{"count", 2}, {"bytes", 2}, {"ids", {'a', 'b'}}}));
  EXPECT_EQ(json("template", {model(), "--source"}), (boost::json::object{{"source", test::kThinkingTemplate}}));
  const boost::json::object ids = json("template", {model(), "-p", "a", "--ids"});
  EXPECT_EQ(ids.at("count"), ids.at("ids").as_array().size());
  EXPECT_GT(ids.at("count").as_int64(), 5);
  EXPECT_GT(json("quantize", {"--list"}).at("types").as_array().size(), 20u);
  EXPECT_GT(json("convert", {"--list"}).at("models").as_array().size(), 20u);
}

TEST_F(CommandChecks, AnOptionThatWouldDoNothingIsRefused) {
  EXPECT_EQ(test::run_command("quantize", {model(), path("q"), "--kl-chunks", "3"}).error,
            "--kl-chunks: goes with --kl-text");
  EXPECT_FALSE(std::filesystem::exists(path("q")));
  EXPECT_THAT(test::run_command("bench", {model(), "--ragged"}).error, HasSubstr("--ragged: goes with --sequences"));
  for (const char* option : {"--ids", "--arg=mood=7", "--no-generation-prompt"}) {
    EXPECT_THAT(test::run_command("template", {model(), option}).error, HasSubstr("goes with a conversation"));
    EXPECT_EQ(test::run_command("template", {model(), "-p", "a", option}).error, "");
  }
}

TEST_F(CommandChecks, AFileThatGrewByQuantizingIsWarnedOf) {
  const auto warnings = [](const std::string& from, const std::string& to, const char* type) {
    return test::run_command("quantize", {from, to, "--type", type, "-t", "1"}).err;
  };
  EXPECT_THAT(warnings(model(), path("small"), "q8_0"), Not(HasSubstr("warning")));
  EXPECT_THAT(warnings(path("small"), path("large"), "f16"),
              HasSubstr("ingle: warning: the file is larger than the model it was made of, whose weights have fewer "
                        "bits than f16"));
}

TEST_F(CommandChecks, FormsOfOutputThatContradictEachOtherAreRefused) {
  EXPECT_EQ(test::run_command("bench", {model(), "--json", "-o", "csv"}).error,
            "--json and -o csv contradict each other");
  EXPECT_EQ(test::run_command("tokenize", {model(), "-p", "a", "--ids", "--count"}).error,
            "--ids and --count: give one of them");
  EXPECT_EQ(test::run_command("template", {model(), "-p", "a", "--ids", "--source"}).error,
            "--features, --source and --ids: give one of them");
}

}  // namespace
}  // namespace ingle::app
