// The conversation on a terminal: keys, signals, and what they leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/terminal_program.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/scripted_model.h"

namespace ingle::app {
namespace {

using test::TerminalProgram;
using testing::HasSubstr;

constexpr std::string_view kPrompt = "] >";

class ChatOnATerminal : public testing::Test {
 protected:
  std::string history() const { return test::read_bytes(folder_ / "ingle/history"); }
  std::filesystem::path folder() const { return folder_ / ""; }
  // With a model that answers "Four, it is.", or so much that a terminal that nobody reads takes no more.
  std::vector<std::string> chat(bool endless = false) {
    const std::filesystem::path model = folder_ / "model";
    std::vector<test::ScriptToken> script = test::thinking_script();
    if (endless) {
      script.clear();
      for (int i = 0; i < 100; ++i) script.push_back({std::string(5000, 'x') + std::to_string(i)});
    }
    test::write_scripted_model(model, script);
    return {"run", model.native(), "--temp", "0", "-t", "1"};
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(ChatOnATerminal, SigtermAtThePromptRestoresTheTerminalAndKeepsTheHistory) {
  TerminalProgram program(chat(), folder());
  ASSERT_TRUE(program.shows(kPrompt));
  program.type("Hi there\r");
  ASSERT_TRUE(program.shows("Four, it is."));
  ASSERT_TRUE(program.shows(kPrompt));
  EXPECT_TRUE(program.changes_terminal());
  program.send(SIGTERM);
  EXPECT_EQ(program.wait(), 143);
  EXPECT_TRUE(program.terminal_is_restored());
  EXPECT_THAT(history(), HasSubstr("there"));
}

TEST_F(ChatOnATerminal, ATerminalThatIsClosedEndsTheChatAndTheStateIsKept) {
  std::vector<std::string> words = chat();
  words.insert(words.end(), {"--save-state", (folder() / "state").native()});
  TerminalProgram program(words, folder());
  ASSERT_TRUE(program.shows(kPrompt));
  program.type("Hi there\r");
  ASSERT_TRUE(program.shows("Four, it is."));
  ASSERT_TRUE(program.shows(kPrompt));
  program.hang_up();
  EXPECT_EQ(program.wait(), 129);
  EXPECT_THAT(history(), HasSubstr("there"));
  EXPECT_TRUE(std::filesystem::exists(folder() / "state"));
}

TEST_F(ChatOnATerminal, CtrlCStopsTheAnswerHoweverOftenItIsPressed) {
  TerminalProgram program(chat(true), folder());
  ASSERT_TRUE(program.shows(kPrompt));
  program.type("Hi\r");
  ASSERT_TRUE(program.shows("xxx"));
  program.let_it_fill_the_terminal();  // so that it heeds none of these before the last has come
  for (int i = 0; i < 5; ++i) {
    program.send(SIGINT);
    ::usleep(20'000);
  }
  EXPECT_TRUE(program.shows("(stopped)"));
  program.type("/stats\r");
  EXPECT_TRUE(program.shows("  seed "));
  program.type("/exit\r");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_TRUE(program.terminal_is_restored());
}

TEST_F(ChatOnATerminal, ASuddenEndRestoresTheTerminal) {
  for (const auto& [signal, end] : {std::pair(SIGTERM, 143), std::pair(SIGQUIT, -SIGQUIT)}) {
    TerminalProgram program(chat(true), folder());
    ASSERT_TRUE(program.shows(kPrompt));
    program.type("Hi\r");
    ASSERT_TRUE(program.shows("xxx"));
    program.let_it_fill_the_terminal();
    EXPECT_TRUE(program.changes_terminal());
    program.send(signal);
    EXPECT_EQ(program.wait(true), end);
    EXPECT_TRUE(program.terminal_is_restored());
  }
}

TEST_F(ChatOnATerminal, APasteThatEndsInsideACharacterEndsWhereItsMarkSays) {
  TerminalProgram program(chat(), folder());
  ASSERT_TRUE(program.shows(kPrompt));
  program.type("\x1b[200~a \xe2 b \xf0\x1b[201~ c\r");
  EXPECT_TRUE(program.shows("Four, it is."));
  ASSERT_TRUE(program.shows(kPrompt));
  program.type("/exit\r");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(history(), HasSubstr("c\n"));
}

TEST_F(ChatOnATerminal, TwoChatsAtOnceKeepWhatEachSaid) {
  TerminalProgram first(chat(), folder()), second(chat(), folder());
  for (TerminalProgram* program : {&first, &second}) ASSERT_TRUE(program->shows(kPrompt));
  for (auto& [program, text] :
       {std::pair(&first, "one\r"), std::pair(&second, "two\r"), std::pair(&first, "three\r")}) {
    program->type(text);
    ASSERT_TRUE(program->shows("Four, it is."));
  }
  for (TerminalProgram* program : {&first, &second}) {
    program->type("/exit\r");
    EXPECT_EQ(program->wait(), 0);
  }
  EXPECT_EQ(history(), "_HiStOrY_V2_\none\ntwo\nthree\n/exit\n/exit\n");
}

TEST_F(ChatOnATerminal, AMessageThatIsTooLongIsToldTheContextThatHoldsIt) {
  std::vector<std::string> words = chat();
  words.insert(words.end(), {"-c", "64"});
  TerminalProgram program(words, folder());
  ASSERT_TRUE(program.shows(kPrompt));
  program.type(std::string(200, 'a') + "\r");
  EXPECT_TRUE(program.shows("has 219 tokens, and the context holds 64"));
  EXPECT_TRUE(program.shows("ingle run -c 731 holds it"));
}

}  // namespace
}  // namespace ingle::app
