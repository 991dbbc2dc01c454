// What is found out about the 52 templates of ../shared/data/templates. The table was checked by eye against each
// template's source; a line that changes says what a change of the finder does to a model.
#include "text/answer_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/text/shared_templates.h"
#include "tests/text/text_support.h"

namespace ingle {
namespace {

AnswerFormat format_of(std::string_view source, std::vector<std::string> vocabulary = {}) {
  return find_answer_format(ChatTemplate::parse(source), source, test::special_tokens(), vocabulary);
}

TEST(AnswerFormat, EveryKnownTemplateIsFoundOutAsTheTableSays) {
  const std::map<std::string, std::string> templates = test::shared_templates();
  if (templates.empty()) GTEST_SKIP() << "no templates under " << test::shared_folder();
  std::map<std::string, std::string> expected;
  for (const std::string& line : test::data_lines("answer_formats.txt")) {
    const size_t colon = line.find(": ");
    ASSERT_NE(colon, line.npos) << line;
    expected[line.substr(0, colon)] = line.substr(colon + 2);
  }
  for (const auto& [name, source] : templates) {
    const ChatTemplate parsed = ChatTemplate::parse(source);
    std::string found = describe(find_answer_format(parsed, source, test::special_tokens()));
    const ThinkingSwitch thinking = find_thinking_switch(parsed, test::special_tokens());
    if (!thinking.name.empty())
      found += fmt::format("; switch {} {} {}{}", thinking.name, thinking.on, thinking.off,
                           thinking.default_on ? " (on)" : "");
    EXPECT_EQ(found, expected[name]) << name;
  }
  EXPECT_EQ(expected.size(), templates.size());
}

constexpr std::string_view kChatMl =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

TEST(AnswerFormat, ATemplateThatKnowsNothingHasTextOnly) {
  EXPECT_TRUE(format_of(kChatMl).plain());
  EXPECT_EQ(describe(format_of(kChatMl)), "text only");
}

TEST(AnswerFormat, WhatATemplateLeavesOutTheVocabularyMayShow) {
  EXPECT_EQ(describe(format_of(kChatMl, {"<think>", "</think>", "<tool_call>", "</tool_call>"})),
            "thinking <think> </think>; calls json begin=<tool_call> end=</tool_call>");
  EXPECT_EQ(describe(format_of(kChatMl, {"<|tool_call_start|>"})),
            "calls python begin=<|tool_call_start|> end=<|tool_call_end|>");
}

TEST(AnswerFormat, AMarkMayFollowTheRoleWithoutABreak) {
  EXPECT_EQ(describe(format_of(
                "{% for m in messages %}<|im_start|>{{ m.role }}"
                "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
                "<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant{% endif %}")),
            "thinking <think> </think>");
}

TEST(AnswerFormat, ATemplateThatRefusesEverythingHasTextOnly) {
  EXPECT_TRUE(format_of("{{ raise_exception('no') }}").plain());
  EXPECT_TRUE(format_of("{{ messages[7].content.x.y }}").plain());
}

TEST(AnswerFormat, MessagesWithHeadersAreFoundByTheirMarks) {
  EXPECT_TRUE(format_of(test::kHarmony).channels);
  EXPECT_EQ(describe(format_of(test::kHarmony)), "channels");
}

}  // namespace
}  // namespace ingle
