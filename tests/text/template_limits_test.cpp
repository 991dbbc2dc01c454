// Templates that would work, grow or nest for ever: every one ends within its limits, and the error says which.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "ingle/error.h"
#include "text/chat_template.h"

namespace ingle {
namespace {

namespace json = boost::json;

const std::chrono::system_clock::time_point kNow{};

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

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(TemplateLimitsTest, DeepSourceIsRefusedNotFollowed) {
  for (std::string_view opening : {"(", "[", "-", "not ", "{1:", "x if x else ", "f(", "a[", "{% if 1 %}", "x.y|f("}) {
    const bool statement = opening[0] == '{' && opening[1] == '%';
    const std::string source = (statement ? "" : "{{ ") + repeated(opening, 100'000);
    EXPECT_THROW(ChatTemplate::parse(source), Error) << opening;
  }
  EXPECT_THROW(ChatTemplate::parse("{{ x" + repeated(".y", 100'000) + " }}"), Error);
  EXPECT_THROW(ChatTemplate::parse("{{ x" + repeated("|upper", 100'000) + " }}"), Error);
}

TEST(TemplateLimitsTest, ALongChainThatIsNotDeepIsFine) {
  const std::string sum = ChatTemplate::parse("{{ 1" + repeated(" + 1", 5000) + " }}").render({}, kNow);
  EXPECT_EQ(sum, "5001");
  const std::string branches = "{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% else %}x{% endif %}";
  EXPECT_EQ(ChatTemplate::parse(branches).render({}, kNow), "x");
}

TEST(TemplateLimitsTest, EndlessWorkStopsAtTheLimitOfSteps) {
  const std::string loops = repeated("{% for i in range(1000) %}", 5) + repeated("{% endfor %}", 5);
  EXPECT_NE(failure(loops, {.steps = 100'000}, ErrorCode::kOutOfMemory).find("100000 steps"), std::string::npos);
}

TEST(TemplateLimitsTest, EndlessRecursionStopsAtTheLimitOfDepth) {
  EXPECT_NE(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", {}, ErrorCode::kOutOfMemory).find("deeper"),
            std::string::npos);
}

TEST(TemplateLimitsTest, DeepValuesAreNeitherPrintedNorComparedWithoutBound) {
  const std::string deep =
      "{% set ns = namespace(a=[], b=[]) %}{% for i in range(9000) %}{% set ns.a = [ns.a] %}{% set ns.b = [ns.b] %}"
      "{% endfor %}";
  for (std::string_view use : {"{{ ns.a }}", "{{ ns.a|tojson }}", "{{ ns.a == ns.b }}", "{{ ns.a < ns.b }}"})
    EXPECT_NE(failure(deep + std::string(use), {}, ErrorCode::kOutOfMemory).find("deeper"), std::string::npos) << use;
  EXPECT_NE(failure("{% set l = [] %}{% set x = l.append(l) %}{{ l }}", {}, ErrorCode::kOutOfMemory).find("deeper"),
            std::string::npos);
}

TEST(TemplateLimitsTest, TextThatGrowsWithoutBoundStops) {
  const TemplateLimits small{.output_bytes = 1 << 20, .value_bytes = 8 << 20};
  for (std::string_view source :
       {"{{ 'x' * 10**12 }}", "{{ '%1000000000d' % 1 }}", "{{ '{:>1000000000}'.format(1) }}", "{{ 'x'.ljust(10**15) }}",
        "{{ 'x'|center(10**12) }}", "{{ 'a\nb'|indent(10**12) }}", "{{ [1]|tojson(indent=10**12) }}",
        "{{ '\t'.expandtabs(10**12) }}", "{{ []|slice(10**12)|list }}", "{{ [1]|batch(10**12, 0)|list }}",
        "{{ [1] * 10**12 }}", "{{ '{:0100000000,}'.format(1) }}", "{{ '%.99999999f' % 1 }}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% for i in range(100000) %}{{ 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' }}{% endfor %}"}) {
    try {
      ChatTemplate::parse(source, small).render({}, kNow);
      ADD_FAILURE() << source;
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::kInternal) << source;
    }
  }
}

// A value that holds itself can only be made by way of a namespace, or of the list methods we allow.
TEST(TemplateLimitsTest, AValueThatHoldsItselfIsNotFollowedForEver) {
  const std::string cycle =
      "{% set ns = namespace() %}{% set ns.a = ns %}{% set l = [] %}{% set _ = l.append(l) %}"
      "{% set k = [] %}{% set _ = k.append(k) %}{% set d = {} %}{% set _ = d.update({'d': d}) %}";
  for (std::string_view use : {"{{ ns }}",
                               "{{ ns ~ '' }}",
                               "{{ [ns]|string }}",
                               "{{ '%s' % ns }}",
                               "{{ '{}'.format(ns) }}",
                               "{{ ns|pprint }}",
                               "{{ l }}",
                               "{{ l|tojson }}",
                               "{{ l|tojson(indent=1) }}",
                               "{{ l|pprint }}",
                               "{{ d }}",
                               "{{ d|tojson }}",
                               "{{ d|pprint }}",
                               "{{ l == k }}",
                               "{{ l < k }}",
                               "{{ [l, k]|sort }}",
                               "{{ l in [k] }}",
                               "{{ [l]|join }}",
                               "{{ l|urlize }}",
                               "{{ l|upper }}"})
    EXPECT_NE(failure(cycle + std::string(use), {}, ErrorCode::kOutOfMemory).find("deeper than"), std::string::npos)
        << use;
  EXPECT_EQ(ChatTemplate::parse(cycle + "{{ ns == ns.a.a }}{{ l == l[0] }}").render({}, kNow), "TrueTrue");
}

TEST(TemplateLimitsTest, DeepJsonFromOutsideIsRefused) {
  json::value deep = nullptr;
  for (int i = 0; i < 1000; ++i) deep = json::array{std::move(deep)};
  EXPECT_THROW(ChatTemplate::parse("{{ messages }}").render(json::object{{"messages", deep}}, kNow), Error);
  const std::string text = repeated("[", 100'000) + repeated("]", 100'000);
  EXPECT_THROW(ChatTemplate::parse("{{ s|from_json }}").render(json::object{{"s", text}}, kNow), Error);
}

TEST(TemplateLimitsTest, WorkOnHugeListsCountsAsWork) {
  const TemplateLimits small{.steps = 1'000'000, .value_bytes = 64 << 20};
  const std::string big = "{% set l = range(50000)|list %}";
  for (std::string_view use :
       {"{% for i in l %}{{ l|sort|length }}{% endfor %}", "{% for i in l %}{{ l == l + [] }}{% endfor %}",
        "{% for i in l %}{{ -1 in l }}{% endfor %}", "{% for i in l %}{{ l|unique|list|length }}{% endfor %}",
        "{% for i in l %}{{ dict.fromkeys(l)|dictsort|length }}{% endfor %}",
        "{% for i in l %}{{ l[::-1] }}{% endfor %}", "{% for i in l %}{{ l|map('string')|join|length }}{% endfor %}",
        "{% for i in l %}{{ (l|map('string')|list)|groupby(0)|length }}{% endfor %}",
        "{% for i in l %}{{ (l|string).split(',')|length }}{% endfor %}",
        "{% for i in l %}{{ (l|string).count('99999') }}{% endfor %}"})
    EXPECT_NE(failure(big + std::string(use), small, ErrorCode::kOutOfMemory), "no error") << use;
}

// Some templates write a whole conversation that way.
TEST(TemplateLimitsTest, ATextGrownPieceByPieceCostsItsLengthNotItsSquare) {
  const ChatTemplate grown = ChatTemplate::parse(
      "{% set ns = namespace(out='') %}{% for i in range(20000) %}{% set ns.out = ns.out ~ m ~ '<|end|>' %}{% endfor %}"
      "{% for i in range(20000) %}{% set ns.out = ns.out + m %}{% endfor %}{{ ns.out }}",
      {.value_bytes = 40 << 20});
  const json::object variables{{"m", std::string(100, 'x')}};
  EXPECT_EQ(grown.render(variables, kNow).size(), 20000U * 107 + 20000 * 100);
}

// The last message of a long conversation is as easy to reach as the first: nothing grows with the square.
TEST(TemplateLimitsTest, ALongConversationIsWithinTheLimits) {
  json::array messages;
  for (int i = 0; i < 2000; ++i)
    messages.push_back(json::object{{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(2000, 'x')}});
  const ChatTemplate chat = ChatTemplate::parse(
      "{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% if m.role == 'user' and ns.last < 0 %}"
      "{% set ns.last = loop.revindex0 %}{% endif %}{% endfor %}{% for m in messages %}{% if loop.index0 <= ns.last %}"
      "{{ '<|' + m['role'] + '|>' + m.content | trim + (m.content.split('</think>')[-1] if loop.last else '') }}"
      "{% endif %}{% endfor %}");
  EXPECT_EQ(chat.render(json::object{{"messages", messages}}, kNow).size(), 1999U * 2000 + 1000 * 8 + 999 * 13);
}

}  // namespace
}  // namespace ingle
