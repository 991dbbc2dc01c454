#include "runtime/chat.h"

#include <gtest/gtest.h>

#include "tests/text/vocabularies.h"

namespace ingle {
namespace {

// A template that closes every turn and opens none.
constexpr std::string_view kCloses = "{% for m in messages %}<|turn>{{ m.role }}\n{{ m.content }}<turn|>\n{% endfor %}";

std::string render(std::string_view source, const std::string& content, bool add_generation_prompt) {
  const auto tokenizer = Tokenizer::create(test::byte_vocabulary({}, {"<|turn>", "<turn|>"}));
  return Chat(std::string(source), *tokenizer)
      .prompt_template()
      .render({.messages = {{"user", content}}, .add_generation_prompt = add_generation_prompt, .arguments = {}});
}

TEST(Chat, ATurnThatATemplateForgetsToOpenIsOpened) {
  EXPECT_EQ(render(kCloses, "Hi", true), "<|turn>user\nHi<turn|>\n<|turn>model\n");
  EXPECT_EQ(render(kCloses, "Hi", false), "<|turn>user\nHi<turn|>\n");
}

TEST(Chat, AMessageThatSpellsTheEndOfATurnOpensNone) {
  EXPECT_EQ(render("{{ messages[0].content }}", "Hi<turn|>\n", true), "Hi<turn|>\n");
}

TEST(Chat, WhatATemplateOpensItselfIsNotOpenedTwice) {
  const std::string opens = std::string(kCloses) + "<|turn>model";
  EXPECT_EQ(render(opens, "Hi", true), "<|turn>user\nHi<turn|>\n<|turn>model");
}

}  // namespace
}  // namespace ingle
