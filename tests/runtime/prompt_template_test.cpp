#include "ingle/prompt_template.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ingle/error.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

constexpr const char* kTurns =
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system message, please') }}{% endif %}"
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% if not enable_thinking %}<think></think>{% endif %}{% endif %}";

PromptTemplate turns() { return PromptTemplate(kTurns, {{"bos_token", "<s>"}}); }

ChatRequest json(std::string messages) {
  return {.messages = {}, .messages_json = std::move(messages), .arguments = {}};
}

std::string complaint(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PromptTemplate, MessagesMayComeAsJson) {
  EXPECT_EQ(turns().render(json(R"([{"role": "user", "content": "Hi"}])")), "<s><user>Hi</><assistant><think></think>");
  EXPECT_EQ(complaint([] { turns().render(json("[{")); }), "messages: not JSON: incomplete JSON at byte 2 of 2");
  EXPECT_EQ(complaint([] { turns().render(json("{}")); }), "messages: not an array");
  EXPECT_EQ(complaint([] { turns().render(json("[]")); }), "the conversation is empty");
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_LT(complaint([&] { turns().render(json(deep)); }).size(), 200u);
}

TEST(PromptTemplate, NumbersReachTheTemplateAsTheyAreWritten) {
  const PromptTemplate all("{{ messages }}{{ x|tojson }}");
  ChatRequest request = json(R"([{"n": 0.9452706955539223}, {"n": [12345678901234567890123, 1E5, -0.0, 1.0, 1]}])");
  request.arguments = {{"x", "[9007199254740993.0, 1e400]"}};
  EXPECT_EQ(all.render(request),
            "[{'n': 0.9452706955539223}, {'n': [12345678901234567890123, 100000.0, -0.0, 1.0, 1]}]"
            "[9007199254740992.0, Infinity]");
  request.arguments = {{"x", "[1, 1e]"}};
  EXPECT_EQ(complaint([&] { all.render(request); }), "template argument 'x': not JSON: syntax error at byte 6 of 7");
  request.arguments = {{"y", R"({"a": [0, 1)" + std::string(40, '0') + "]}"}};  // also where nobody asks for it
  EXPECT_EQ(complaint([&] { all.render(request); }),
            "template argument 'y': a[1]: an integer beyond 127 bits is not supported");
}

TEST(PromptTemplate, MessagesMayHoldAnyBytes) {
  EXPECT_EQ(turns().render({.messages = {{"user", "\xff"}}}), "<s><user>\xff</><assistant><think></think>");
}

TEST(PromptTemplate, ASpecialTokenThatTheVocabularyLacksIsUndefined) {
  const ChatRequest hi{.messages = {{"user", "hi"}}, .arguments = {}};
  EXPECT_EQ(PromptTemplate("{{ eos_token is defined }}").render(hi), "False");
  EXPECT_EQ(PromptTemplate("{{ eos_token is defined }}", {{"eos_token", "</s>"}}).render(hi), "True");
}

TEST(PromptTemplate, TheGenerationPromptStartsWhereTheConversationEnds) {
  ChatRequest request{.messages = {{"user", "Hi"}}, .arguments = {}};
  const std::string text = turns().render(request);
  EXPECT_EQ(text.substr(turns().generation_prompt_offset(request)), "<assistant><think></think>");
  request.add_generation_prompt = false;
  EXPECT_EQ(turns().generation_prompt_offset(request), turns().render(request).size());
}

TEST(PromptTemplate, FeaturesAreWhatRenderingShows) {
  const std::vector<TemplateFeature> features = turns().features();
  const auto of = [&](std::string_view name) {
    const auto found = std::ranges::find(features, name, &TemplateFeature::name);
    return found == features.end() ? "absent" : found->answer + ":" + found->detail;
  };
  EXPECT_EQ(of("system message"), "refused:no system message, please");
  EXPECT_EQ(of("several turns"), "yes:");
  EXPECT_EQ(of("content in parts"), "no:parts are printed as data");
  EXPECT_EQ(of("generation prompt"), "yes:<assistant><think></think>");
  EXPECT_EQ(of("tools"), "no:");
  EXPECT_EQ(of("thinking switch"), "yes:enable_thinking");
  EXPECT_EQ(of("begin token"), "yes:<s>");
  EXPECT_EQ(of("today's date"), "no:");
  const PromptTemplate dated("{{ messages[0].content }}{{ strftime_now('%Y') }}");
  const std::vector<TemplateFeature> others = dated.features();
  EXPECT_EQ(std::ranges::find(others, "today's date", &TemplateFeature::name)->answer, "yes");
}

TEST(PromptTemplate, EveryConversationThatLooksForFeaturesHasASmallLimit) {
  // A million rounds: one rendering may take them, dozens must not.
  const PromptTemplate slow("{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}x");
  EXPECT_EQ(slow.render({.messages = {{"user", "hi"}}}), "x");
  const std::vector<TemplateFeature> features = slow.features();
  EXPECT_EQ(features.at(0).answer, "refused");
  EXPECT_EQ(features.at(0).detail, "template: builds more than 16777216 bytes of values");
}

class ReadTemplate : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
};

TEST_F(ReadTemplate, AFileThatIsNothingElseIsATemplate) {
  EXPECT_EQ(read_template(folder_.write("a.jinja", "{{ x }}")).text, "{{ x }}");
  EXPECT_THROW(read_template(folder_ / "absent.jinja"), Error);
}

TEST_F(ReadTemplate, AConfigHasOneOrSeveralAndTheSpecialTokens) {
  const auto one =
      folder_.write("one.json", R"({"chat_template": "T", "bos_token": "<s>", "eos_token": {"content": "</s>"},
                                         "add_bos_token": true, "pad_token": null})");
  const TemplateSource source = read_template(one);
  EXPECT_EQ(source.text, "T");
  EXPECT_EQ(source.special_tokens,
            (std::vector<std::pair<std::string, std::string>>{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));

  const auto several = folder_.write("several.json", R"({"chat_template": [{"name": "default", "template": "D"},
                                                                   {"name": "tool_use", "template": "U"}]})");
  EXPECT_EQ(read_template(several).text, "D");
  EXPECT_EQ(read_template(several).names, std::vector<std::string>{"tool_use"});
  EXPECT_EQ(read_template(several, "tool_use").text, "U");
  const std::string message = complaint([&] { read_template(several, "rag"); });
  EXPECT_NE(message.find("no chat template named \"rag\" (there are tool_use)"), std::string::npos) << message;
}

TEST_F(ReadTemplate, InAFolderTheFileOfItsOwnCounts) {
  folder_.write("tokenizer_config.json", R"({"chat_template": "old", "bos_token": "<s>"})");
  EXPECT_EQ(read_template((folder_ / "")).text, "old");
  folder_.write("chat_template.jinja", "new");
  EXPECT_EQ(read_template((folder_ / "")).text, "new");
  EXPECT_EQ(read_template((folder_ / "")).special_tokens.size(), 1u);
}

TEST_F(ReadTemplate, BrokenFilesAreSaidToBe) {
  for (const char* text : {"", "{", "[]", R"({"chat_template": [{"name": 1}]})"})
    EXPECT_THROW(read_template(folder_.write("bad.json", text)), Error) << text;
  const std::string message = complaint([&] { read_template(folder_.write("bad.json", "[]")); });
  EXPECT_TRUE(message.ends_with(": not a JSON object (but another value)")) << message;
}

}  // namespace
}  // namespace ingle
