// What is generated from the option table: help, man pages, completion scripts; and that the tools they are for accept
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/files.h"
#include "apps/ingle/help.h"
#include "apps/ingle/manual.h"
#include "apps/ingle/shell_completion.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

// A directory that goes with the test.
class Documents : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ingle_documents_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  static bool have(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
  }

  std::filesystem::path directory_;
};

TEST_F(Documents, BashParsesItsCompletionScript) {
  if (!have("bash")) GTEST_SKIP() << "no bash";
  EXPECT_EQ(std::system(("bash -n " + write("ingle.bash", bash_completion())).c_str()), 0);
}

TEST_F(Documents, BashCompletesCommandsOptionsAndChoices) {
  if (!have("bash")) GTEST_SKIP() << "no bash";
  const std::string script = write("ingle.bash", bash_completion());
  const auto completions = [&](const std::string& words, int at) {
    const std::string out = (directory_ / "out").string();
    const std::string command =
        fmt::format("bash -c 'source {}; COMP_WORDS=({}); COMP_CWORD={}; _ingle; echo \"${{COMPREPLY[*]}}\"' > {}",
                    script, words, at, out);
    EXPECT_EQ(std::system(command.c_str()), 0);
    return read_file(out);
  };
  EXPECT_EQ(completions("ingle ru", 1), "run\n");
  EXPECT_EQ(completions("ingle run --ctx", 2), "--ctx-size\n");
  EXPECT_EQ(completions("ingle run -ctk q", 3), "q8_0 q4_0\n");
  EXPECT_EQ(completions("ingle completion f", 2), "fish\n");
  EXPECT_THAT(completions("ingle inspect smol", 2), HasSubstr("smollm2"));
}

TEST_F(Documents, ZshParsesItsCompletionScript) {
  if (!have("zsh")) GTEST_SKIP() << "no zsh";
  EXPECT_EQ(std::system(("zsh -n " + write("_ingle", zsh_completion())).c_str()), 0);
}

TEST_F(Documents, FishParsesItsCompletionScript) {
  if (!have("fish")) GTEST_SKIP() << "no fish";
  EXPECT_EQ(std::system(("fish -n " + write("ingle.fish", fish_completion())).c_str()), 0);
}

TEST_F(Documents, ManShowsEveryPageWithoutWarnings) {
  if (!have("man") || !have("groff")) GTEST_SKIP() << "no man, or no groff to format with";
  std::vector<std::string> pages = {write("ingle.1", manual_overview())};
  for (const Command& command : commands())
    pages.push_back(write(fmt::format("ingle-{}.1", command.syntax.name), manual_page(command.syntax)));
  for (const std::string& page : pages) {
    const std::string complaints = page + ".complaints";
    EXPECT_EQ(std::system(fmt::format("groff -man -Tutf8 -ww -z {} 2> {}", page, complaints).c_str()), 0);
    EXPECT_EQ(read_file(complaints), "") << page;
    EXPECT_EQ(std::system(fmt::format("man -l {} > {}.text 2>/dev/null", page, page).c_str()), 0);
  }
  EXPECT_THAT(read_file(directory_ / "ingle-run.1.text"), HasSubstr("--ctx-size"));
}

TEST(Help, EveryOptionOfACommandIsOnItsPage) {
  for (const Command& command : commands()) {
    const std::string help = help_text(command.syntax, 100), manual = manual_page(command.syntax);
    for (const OptionGroup* group : command.syntax.groups)
      for (const Option& option : group->options) {
        EXPECT_THAT(help, HasSubstr(fmt::format("--{}", option.name)));
        std::string escaped;
        for (const char c : option.name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
        EXPECT_THAT(manual, HasSubstr("\\fB\\-\\-" + escaped + "\\fR"));
      }
  }
}

TEST(Help, LinesFitTheTerminal) {
  for (const Command& command : commands()) {
    const std::string help = help_text(command.syntax, 80);
    const size_t examples = help.find("\nExamples:");
    for (size_t begin = 0; begin < std::min(help.size(), examples);) {
      const size_t end = help.find('\n', begin);
      EXPECT_LE(display_width(std::string_view(help).substr(begin, end - begin)), 80)
          << help.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(Help, TheOverviewListsEveryCommand) {
  for (const Command& command : commands()) EXPECT_THAT(overview(80), HasSubstr(std::string(command.syntax.summary)));
}

TEST(ExitCodes, ThePageListsEachWithItsMeaning) {
  const std::string page = read_file(INGLE_SOURCE_DIR "/docs/exit-codes.md");
  for (const ExitCode& code : exit_codes())
    EXPECT_THAT(page, HasSubstr(fmt::format("| {} | {} |", code.status, code.meaning)));
}

TEST(ExitCodes, EveryErrorHasOneOfTheDocumentedStatuses) {
  for (const ErrorCode code :
       {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kInvalidFile, ErrorCode::kUnsupported,
        ErrorCode::kOutOfMemory, ErrorCode::kIo, ErrorCode::kCancelled, ErrorCode::kInternal})
    EXPECT_TRUE(
        std::ranges::any_of(exit_codes(), [&](const ExitCode& known) { return known.status == exit_status(code); }));
}

TEST(CommandsPage, IsWhatScriptsGenerateDocsWrites) {
  EXPECT_EQ(read_file(INGLE_SOURCE_DIR "/docs/commands.md"), commands_page()) << "run scripts/generate_docs";
}

}  // namespace
}  // namespace ingle::app
