// From a model file to thinking, text and calls, by way of generate().
#include "ingle/answer.h"

#include <gtest/gtest.h>

#include "ingle/ingle.h"
#include "tests/models/scripted_model.h"

namespace ingle {
namespace {

class Answer : public testing::Test {
 protected:
  explicit Answer(const std::vector<test::ScriptToken>& script = test::calling_script())
      : path_(std::filesystem::path(testing::TempDir()) /
              (std::string("answer_") + testing::UnitTest::GetInstance()->current_test_info()->name() + ".gguf")) {
    test::write_scripted_model(path_, script);
    model_.emplace(Model::open(engine_, path_));
  }
  ~Answer() override { std::filesystem::remove(path_); }

  ParsedAnswer answer(const ChatRequest& request) {
    const AnswerFormat format = model_->answer_format();
    AnswerParser parser(format, model_->prompt_template().answer_options(request));
    ParsedAnswer parsed;
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = 40;
    options.shown_tokens = model_->mark_tokens(format);
    options.on_text = [&](std::string_view text) {
      for (const AnswerEvent& event : parser.push(text)) parsed.add(event);
      return true;
    };
    Session session(*model_, {.context = 1024});
    const Generation generation = generate(session, session.create(), model_->tokenize_chat(request), options);
    EXPECT_EQ(generation.finish, FinishReason::kEndOfGeneration) << generation.text;
    for (const AnswerEvent& event : parser.finish()) parsed.add(event);
    return parsed;
  }

  static constexpr const char* kTools = R"([{"type": "function", "function": {"name": "weather"}}])";

  std::filesystem::path path_;
  Engine engine_{{.threads = 1, .isa = {}, .exact = true, .log = {}}};
  std::optional<Model> model_;
};

TEST_F(Answer, ThinkingTextAndCallsOfAModelComeApart) {
  const ParsedAnswer parsed = answer({.messages = {{"user", "Weather?"}}, .arguments = {{"tools", kTools}}});
  EXPECT_EQ(parsed.thinking, "The weather.");
  EXPECT_EQ(parsed.text, "Let me see.");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].name, "weather");
  EXPECT_EQ(parsed.calls[0].arguments, R"({"city": "Bern"})");
}

TEST_F(Answer, WithoutToolsACallIsText) {
  const ParsedAnswer parsed = answer({.messages = {{"user", "Weather?"}}});
  EXPECT_EQ(parsed.thinking, "The weather.");
  EXPECT_TRUE(parsed.calls.empty());
  EXPECT_NE(parsed.text.find("<tool_call>{\"name\""), std::string::npos);
}

TEST_F(Answer, TheSwitchOfTheTemplateIsFoundAndTurnsThinkingOff) {
  const ThinkingSwitch found = model_->prompt_template().thinking_switch();
  EXPECT_EQ(found.name, "enable_thinking");
  EXPECT_TRUE(found.default_on);
  const ParsedAnswer parsed =
      answer({.messages = {{"user", "Weather?"}}, .arguments = {{found.name, found.off}, {"tools", kTools}}});
  EXPECT_EQ(parsed.thinking, "");
  EXPECT_EQ(parsed.text, "Let me see.");
}

TEST_F(Answer, OnlyMarksAmongTheControlTokensAreShown) {
  std::vector<std::string> shown;
  for (TokenId id : model_->mark_tokens(model_->answer_format())) shown.push_back(model_->token_text(id));
  EXPECT_EQ(shown, (std::vector<std::string>{"<think>", "</think>", "<tool_call>", "</tool_call>"}));
}

TEST_F(Answer, WhatAnAssistantThoughtGoesBackToItsTemplate) {
  EXPECT_EQ(model_->render_chat({.messages = {{"user", "a"}, {"assistant", "b", "c"}}, .add_generation_prompt = false}),
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>c</think>b<|im_end|>\n");
}

TEST_F(Answer, WhatAMessageSaysDoesNotBeginTheThinking) {
  const AnswerParser::Options options =
      model_->prompt_template().answer_options({.messages = {{"user", "<think>"}}, .add_generation_prompt = false});
  EXPECT_EQ(options.prompt_end, "<|im_end|>\n");
  EXPECT_FALSE(options.calls);
}

}  // namespace
}  // namespace ingle
