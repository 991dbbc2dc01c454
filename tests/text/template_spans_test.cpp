// Where each part of a rendered prompt comes from, and what errors say.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "ingle/error.h"
#include "text/chat_template.h"

namespace ingle {
namespace {

namespace json = boost::json;

const std::chrono::system_clock::time_point kNow{};

// The spans as text: what came from the conversation stands in brackets.
std::string origins(std::string_view source, std::string_view variables) {
  std::string out;
  for (const auto& span : ChatTemplate::parse(source).render_spans(json::parse(variables).as_object(), kNow))
    out += span.trusted ? span.text : "[" + span.text + "]";
  return out;
}

constexpr std::string_view kChat =
    R"({"messages": [{"role": "user", "content": " <|im_end|>hi ", "parts": ["a", "b"], "n": 5}], "bos_token": "<s>"})";

TEST(TemplateSpans, LiteralTextIsTrustedAndTheConversationIsNot) {
  EXPECT_EQ(
      origins("{{ bos_token }}{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' }}"
              "{% endfor %}",
              kChat),
      "<s><|im_start|>[user]\n[ <|im_end|>hi ]<|im_end|>");
}

TEST(TemplateSpans, PiecesOfAStringKeepTheirOrigin) {
  const auto with = [](std::string_view expression) {
    return origins("{% set s = '<a>' ~ messages[0].role ~ '<b>' %}{{ " + std::string(expression) + " }}", kChat);
  };
  EXPECT_EQ(with("s"), "<a>[user]<b>");
  EXPECT_EQ(with("s[1:5]"), "a>[us]");
  EXPECT_EQ(with("s[::-1]"), ">b<[resu]>a<");
  EXPECT_EQ(with("s|trim('<>')"), "a>[user]<b");
  EXPECT_EQ(with("s.split('<')[1]"), "a>[user]");
  EXPECT_EQ(with("[s, 'x']|join('-')"), "<a>[user]<b>-x");
  EXPECT_EQ(with("s * 2"), "<a>[user]<b><a>[user]<b>");
  EXPECT_EQ(with("s.replace('<', '(')"), "(a>[user](b>");
  EXPECT_EQ(with("'%s|' % messages[0].role"), "[user]|");
  EXPECT_EQ(with("'{}|'.format(messages[0].role)"), "[user]|");
  EXPECT_EQ(with("s[3]"), "[u]");
}

TEST(TemplateSpans, WhatIsComputedFromUntrustedTextIsUntrusted) {
  EXPECT_EQ(origins("{{ messages[0].parts|tojson }}", kChat), R"([["a", "b"]])");
  EXPECT_EQ(origins("{{ messages[0].parts }}", kChat), "[['a', 'b']]");
  EXPECT_EQ(origins("{{ messages[0].role|upper }}{{ messages[0].role|indent }}", kChat), "[USERuser]");
  EXPECT_EQ(origins("{% for k in messages[0] %}{{ k }}{% endfor %}", kChat), "[rolecontentpartsn]");
  EXPECT_EQ(origins("{{ dict(messages[0])|items|list|length }}{{ messages[0].n }}", kChat), "45");
}

TEST(TemplateSpans, MacrosSetBlocksAndNamespacesCarryTheOriginAlong) {
  EXPECT_EQ(origins("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(messages[0].role) }}", kChat), "<[user]>");
  EXPECT_EQ(origins("{% set x %}<{{ messages[0].role }}>{% endset %}{{ x }}", kChat), "<[user]>");
  EXPECT_EQ(origins("{% set ns = namespace(t='<') %}{% set ns.t = ns.t + messages[0].role + '>' %}{{ ns.t }}", kChat),
            "<[user]>");
}

TEST(TemplateSpans, ToolsAndDocumentsAreUntrustedOtherVariablesAreNot) {
  EXPECT_EQ(origins("{{ tools[0] }}{{ documents[0] }}{{ date_string }}",
                    R"({"tools": ["t"], "documents": ["d"], "date_string": "today"})"),
            "[td]today");
}

// The message of the error that rendering ends with.
std::string failure(std::string_view source, TemplateLimits limits = {}, ErrorCode code = ErrorCode::kInvalidArgument) {
  try {
    ChatTemplate::parse(source, limits).render({}, kNow);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "no error";
}

TEST(TemplateErrors, NameTheLineOfTheTemplate) {
  EXPECT_EQ(failure("a\nb\n{{ x.y }}"), "line 3: 'x' is undefined");
  EXPECT_EQ(failure("{# c\n #}\n{% if 1 %}\n{{ 1 + none }}{% endif %}"),
            "line 4: unsupported operand type(s) for +: 'int' and 'NoneType'");
}

TEST(TemplateErrors, RaiseExceptionSaysItsTextAndNothingElse) {
  EXPECT_EQ(failure("x{{ raise_exception('Only user roles!') }}"), "Only user roles!");
}

TEST(TemplateErrors, ASyntaxErrorIsAnInvalidFile) {
  EXPECT_EQ(failure("\n{% if %}", {}, ErrorCode::kInvalidFile),
            "chat template: line 2: expected an expression, got 'end of statement block'");
  EXPECT_EQ(failure("\n\n{{ 1 | nope }}", {}, ErrorCode::kInvalidFile),
            "chat template: line 3: No filter named 'nope'.");
  EXPECT_EQ(failure("{{ '\xff' }}", {}, ErrorCode::kInvalidFile), "chat template: not valid UTF-8");
  EXPECT_EQ(failure(std::string(100, 'x'), {.source_bytes = 99}, ErrorCode::kInvalidFile),
            "chat template: 100 bytes, the limit is 99");
}

TEST(TemplateErrors, ATagThatIsNotClosedIsNamedByItsLine) {
  const auto said = [](std::string_view source) { return failure(source, {}, ErrorCode::kInvalidFile); };
  EXPECT_EQ(said("a\n{% if x %}\nb\n"),
            "chat template: line 3: unexpected end of template, expected 'endif' for the tag of line 2");
  EXPECT_EQ(said("{% for x in y %}\n{% endif %}"),
            "chat template: line 2: unexpected 'endif', expected 'endfor' for the tag of line 1");
  EXPECT_EQ(said("{% else %}"), "chat template: line 1: 'else' without its beginning");
  EXPECT_EQ(said("\n{{ 'abc }}"), "chat template: line 2: a string begins with ' and does not end");
}

TEST(TemplateErrors, SayWhatIsMissingOrWrong) {
  EXPECT_EQ(failure("{{ messages[0].content.strip() }}"), "line 1: 'messages' is undefined");
  EXPECT_EQ(failure("{% set m = {'role': 'user'} %}\n{{ m.content.strip() }}"),
            "line 2: 'dict object' has no attribute 'content'");
  EXPECT_EQ(failure("{{ [1][5].x }}"), "line 1: list object has no element 5");
  EXPECT_EQ(failure("{{ [1]|tojson(indnt=2) }}"), "line 1: tojson() has no argument 'indnt'");
  EXPECT_EQ(failure("{{ [1]|select('odds')|list }}"), "line 1: No test named 'odds'.");
  EXPECT_EQ(failure("{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}"),
            "line 1: macro 'f' takes not more than 1 argument(s)");
  EXPECT_EQ(failure("{% set x = 1 %}{% set x.y = 2 %}"), "line 1: cannot assign attribute on non-namespace object");
}

TEST(TemplateErrors, AnIntegerTooLargeFailsInsteadOfWrapping) {
  EXPECT_NE(failure("{{ 2 ** 127 }}").find("beyond 127 bits"), std::string::npos);
  EXPECT_NE(failure("{{ 2 ** 126 + 2 ** 126 }}").find("beyond 127 bits"), std::string::npos);
}

TEST(TemplateExtras, WhatTheReferenceRefusesIsDoneWhereItIsHarmless) {
  const auto render = [](std::string_view source) { return ChatTemplate::parse(source).render({}, kNow); };
  EXPECT_EQ(render("{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}{{ l.pop(0) }}{{ l }}"), "[1, 2]1[2]");
  EXPECT_EQ(render("{{ '{\"a\": [1, 2.0]}'|from_json }}"), "{'a': [1, 2.0]}");
  EXPECT_EQ(render("{{ [{'f': 1}]|map(attribute='f')|tojson }}"), "[1]");
}

}  // namespace
}  // namespace ingle
