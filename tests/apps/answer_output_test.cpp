// What `ingle run` makes of a model that thinks: the command itself, on a model that says what a script says.
#include "apps/ingle/answer_output.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "apps/ingle/chat/conversation.h"
#include "apps/ingle/exit_code.h"
#include "tests/apps/command_run.h"
#include "tests/models/scripted_model.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

class AnswerOutputTest : public testing::Test {
 protected:
  AnswerOutputTest() {
    test::write_scripted_model(path("thinks"), test::thinking_script());
    test::write_scripted_model(path("calls"), test::calling_script());
    test::write_scripted_model(path("plain"), {{"Hi"}, {" there"}, {".\n"}},
                               "{%- for m in messages -%}{{ m.content }}\n{% endfor %}");
    std::ofstream(path("tools")) << R"([{"type": "function", "function": {"name": "weather", "parameters": {}}}])";
  }
  ~AnswerOutputTest() override {
    for (const char* name : {"thinks", "calls", "plain", "tools"}) std::filesystem::remove(path(name));
  }
  static std::string path(const std::string& name) {
    return testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + name;
  }

  test::CommandRun run(const std::string& model, std::vector<std::string> words) {
    words.insert(words.begin(), {path(model), "-p", "Well?", "--temp", "0", "-c", "256", "-t", "1"});
    test::CommandRun made = test::run_command("run", words);
    EXPECT_EQ(made.status, made.error.empty() ? kSuccess : -1);
    made.err += made.error;
    return made;
  }
};

TEST_F(AnswerOutputTest, StdoutGetsTheAnswerAndNothingOfTheThinking) {
  EXPECT_EQ(run("thinks", {}).out, "Four, it is.\n");
  EXPECT_EQ(run("thinks", {"--show-thinking", "never"}).err, "");
}

TEST_F(AnswerOutputTest, ThinkingThatIsToBeShownAlwaysGoesToStderr) {
  const test::CommandRun written = run("thinks", {"--show-thinking", "always"});
  EXPECT_EQ(written.out, "Four, it is.\n");
  EXPECT_EQ(written.err, "Two and two.\n\n");
}

TEST_F(AnswerOutputTest, ThinkingCanBeSwitchedOff) {
  const test::CommandRun written = run("thinks", {"--thinking", "off", "--show-thinking", "always"});
  EXPECT_EQ(written.out, "Four, it is.\n");
  EXPECT_EQ(written.err, "");
}

TEST_F(AnswerOutputTest, ATemplateWithoutASwitchSaysSo) {
  EXPECT_THAT(run("plain", {"--thinking", "on"}).err, HasSubstr("has no switch for it; nothing in it says"));
  EXPECT_EQ(run("plain", {}).out, "Hi there.\n");
}

TEST_F(AnswerOutputTest, ATemplateWithoutAPlaceForToolsSaysSo) {
  EXPECT_THAT(run("plain", {"--tools", path("tools")}).err, HasSubstr("--tools: this model's chat template has no"));
  std::ofstream(path("tools")) << "[]";
  EXPECT_EQ(run("plain", {"--tools", path("tools")}).out, "Hi there.\n");
}

TEST_F(AnswerOutputTest, WhatIsNoToolIsRefusedByNumber) {
  const auto complaint = [&](const char* tools) {
    std::ofstream(path("tools")) << tools;
    return run("calls", {"--tools", path("tools")}).err;
  };
  EXPECT_EQ(complaint("5"), path("tools") + ": no JSON array of tools");
  for (const char* second : {"5", "{}", R"({"name": 5})", R"({"type": "function", "function": {"name": ""}})"})
    EXPECT_THAT(complaint(fmt::format(R"([{{"name": "bare"}}, {}])", second).c_str()),
                HasSubstr(": tool 1 has no name"));
}

TEST_F(AnswerOutputTest, CallsArePrintedAsJsonBehindTheText) {
  EXPECT_EQ(run("calls", {"--tools", path("tools")}).out,
            "Let me see.\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\"}}\n");
  EXPECT_THAT(run("calls", {}).out, HasSubstr("Let me see.<tool_call>"));
}

TEST_F(AnswerOutputTest, JsonHasThinkingAndCallsApart) {
  const boost::json::value object = boost::json::parse(run("calls", {"--json", "--tools", path("tools")}).out);
  EXPECT_EQ(object.at("text").as_string(), "Let me see.");
  EXPECT_EQ(object.at("thinking").as_string(), "The weather.");
  EXPECT_EQ(boost::json::serialize(object.at("tool_calls")), R"([{"name":"weather","arguments":{"city":"Bern"}}])");
  EXPECT_FALSE(object.as_object().contains("broken_calls"));
}

TEST(CallsJson, ArgumentsStayAsTheModelWroteThem) {
  ParsedAnswer parsed;
  EXPECT_EQ(calls_json(parsed), "[]");
  constexpr const char* kArguments = R"({"n": 12345678901234567890123, "x": [0.9452706955539223, 1e999, 1E5]})";
  parsed.calls = {{.id = "", .name = "f", .arguments = kArguments, .raw = ""},
                  {.id = "7", .name = "g", .arguments = "{}", .raw = ""}};
  EXPECT_EQ(calls_json(parsed),
            "[{\"name\":\"f\",\"arguments\":" + std::string(kArguments) + R"(},{"name":"g","id":"7","arguments":{}}])");
}

TEST_F(AnswerOutputTest, ACallThatIsCutOffStaysTextAndIsReported) {
  const test::CommandRun written = run("calls", {"--tools", path("tools"), "-n", "10"});
  EXPECT_EQ(written.out, "Let me see.<tool_call>{\"name\": \"weather\", \"arguments\":\n");
  EXPECT_EQ(written.err, "ingle: note: the answer ends inside the arguments; it stays part of the text\n");
}

TEST_F(AnswerOutputTest, SpecialShowsTheMarks) {
  EXPECT_EQ(run("thinks", {"--special"}).out, "<think>Two and two.</think>Four, it is.\n");
}

TEST_F(AnswerOutputTest, OptionsThatNeedATemplateAreRefusedWithoutOne) {
  EXPECT_THAT(run("thinks", {"--raw", "--thinking", "on"}).err, HasSubstr("--raw has no place for --thinking"));
  EXPECT_THAT(run("thinks", {"--raw", "--tools", path("tools")}).err, HasSubstr("--raw has no place for --tools"));
}

TEST(AnswerOutputOnATerminal, ThinkingIsDimmedPieceByPieceAndSetApart) {
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  const AnswerFormat format{.thinking_begin = "<think>", .thinking_end = "</think>"};
  const auto shown = [&] {
    testing::internal::CaptureStdout();
    AnswerOutput output(format, {}, AnswerOutput::Thinking::kStdout);
    for (const char* piece : {"<think>Two", " and", " two.</think>\n", "\nFour."}) output.write(piece);
    EXPECT_EQ(output.finish().text, "Four.");
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(shown(), "\x1b[2mTwo\x1b[m\x1b[2m and\x1b[m\x1b[2m two.\x1b[m\n\nFour.");
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(shown(), "Two and two.\n\nFour.");
  ::unsetenv("NO_COLOR");
}

TEST(Conversation, KeepsWhatTheModelThought) {
  const Conversation before{"", {{"user", "1"}, {"assistant", "2", "hm\n\"so\""}}};
  const Conversation after = parse_conversation(to_text(before), "kept.json");
  ASSERT_EQ(after.messages.size(), 2u);
  EXPECT_EQ(after.messages[1].reasoning, "hm\n\"so\"");
  EXPECT_EQ(after.messages[0].reasoning, "");
}

}  // namespace
}  // namespace ingle::app
