// What commands refuse before they begin: outputs that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "apps/ingle/exit_code.h"
#include "apps/ingle/files.h"
#include "tests/apps/command_run.h"
#include "tests/models/scripted_model.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

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

TEST_F(CommandChecks, AskingWhetherAFileCanBeWrittenLeavesEverythingAsItWas) {
  write_file(path("old"), "old");
  require_writable(path("old"));
  require_writable(path("new"));
  EXPECT_EQ(read_file(path("old")), "old");
  EXPECT_FALSE(std::filesystem::exists(path("new")));
}

}  // namespace
}  // namespace ingle::app
