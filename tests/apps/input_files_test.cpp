// No command writes over what it reads.
#include "ingle/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/command_run.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/scripted_model.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

class Inputs : public testing::Test {
 protected:
  Inputs() {
    test::write_scripted_model(model_, test::thinking_script());
    folder_.write("text", std::string(2000, 'a'));
    std::filesystem::create_hard_link(model_, folder_ / "link.gguf");
  }

  // The command is refused for `target`, which it reads, and nothing has changed.
  void expect_kept(const std::string& target, const std::string& command, std::vector<std::string> words) {
    const std::string before = test::read_bytes(target);
    const std::vector<std::string> names = folder_.names();
    EXPECT_THAT(test::run_command(command, words).error, HasSubstr("it cannot be the one to write")) << command;
    EXPECT_TRUE(test::read_bytes(target) == before) << command;
    EXPECT_EQ(folder_.names(), names) << command;
  }

  test::TemporaryFolder folder_;
  const std::string model_ = folder_ / "model.gguf", text_ = folder_ / "text", link_ = folder_ / "link.gguf";
};

TEST_F(Inputs, AreKeptByCommandsThatMeasure) {
  for (const std::string& target : {model_, text_, link_}) {
    expect_kept(target, "imatrix", {model_, "-f", text_, "-c", "64", "-t", "1", "-o", target});
    expect_kept(target, "perplexity", {model_, "-f", text_, "-c", "64", "-t", "1", "--save-logits", target});
  }
}

TEST_F(Inputs, AreKeptByRun) {
  for (const std::string& target : {model_, text_, link_})
    expect_kept(target, "run", {model_, "-f", text_, "-t", "1", "-n", "1", "--save-state", target});
  expect_kept(text_, "run", {model_, "-p", "a", "-t", "1", "--lora-scaled", text_ + ":0.5", "--save-state", text_});
}

TEST_F(Inputs, AreKeptByQuantize) {
  for (const std::string& target : {model_, link_}) expect_kept(target, "quantize", {model_, target, "--type", "q8_0"});
  expect_kept(text_, "quantize", {model_, text_, "--type", "q8_0", "--kl-text", text_});
}

TEST_F(Inputs, ThatAreReadWholeMayGrowInTheirPlace) {
  const std::string sums = folder_ / "sums.gguf", state = folder_ / "state";
  const std::vector<std::string> measure = {model_, "-f", text_, "-c", "64", "-t", "1", "--chunks", "1"};
  std::vector<std::string> first = measure, second = measure;
  first.insert(first.end(), {"-o", sums});
  second.insert(second.end(), {"--skip", "1", "--in", sums, "-o", sums});
  EXPECT_EQ(test::run_command("imatrix", first).error, "");
  EXPECT_EQ(test::run_command("imatrix", second).error, "");
  EXPECT_EQ(test::run_command("run", {model_, "-p", "a", "-t", "1", "--save-state", state}).error, "");
  EXPECT_EQ(
      test::run_command("run", {model_, "-p", "b", "-t", "1", "--load-state", state, "--save-state", state}).error, "");
}

}  // namespace
}  // namespace ingle::app
