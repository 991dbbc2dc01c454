// Values that come as JSON text, as the template prints them.
#include "text/template_from_json.h"

#include <gtest/gtest.h>

#include "ingle/error.h"
#include "text/chat_template.h"

namespace ingle {
namespace {

std::string render(std::string_view source, std::string json) {
  TemplateVariables variables;
  variables.set("x", std::move(json));
  return ChatTemplate::parse(source).render(variables, {});
}

std::string complaint(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

struct Number {
  const char *json, *printed, *dumped;
};

// str(json.loads(text)) and json.dumps(json.loads(text)) of Python.
constexpr Number kNumbers[] = {
    // clang-format off
    {"0", "0", "0"},
    {"-0", "0", "0"},
    {"1", "1", "1"},
    {"1.0", "1.0", "1.0"},
    {"-0.0", "-0.0", "-0.0"},
    {"1E5", "100000.0", "100000.0"},
    {"1e5", "100000.0", "100000.0"},
    {"1e+5", "100000.0", "100000.0"},
    {"100000", "100000", "100000"},
    {"1e16", "1e+16", "1e+16"},
    {"123456789012345680.0", "1.2345678901234568e+17", "1.2345678901234568e+17"},
    {"1e15", "1000000000000000.0", "1000000000000000.0"},
    {"1e-5", "1e-05", "1e-05"},
    {"0.0001", "0.0001", "0.0001"},
    {"0.00001", "1e-05", "1e-05"},
    {"0.1", "0.1", "0.1"},
    {"0.30000000000000004", "0.30000000000000004", "0.30000000000000004"},
    {"0.9452706955539223", "0.9452706955539223", "0.9452706955539223"},
    {"-9.3263225555419921875", "-9.326322555541992", "-9.326322555541992"},
    {"5.10501e-7", "5.10501e-07", "5.10501e-07"},
    {"-12.676719665527344", "-12.676719665527344", "-12.676719665527344"},
    {"9007199254740993.0", "9007199254740992.0", "9007199254740992.0"},
    {"9007199254740993", "9007199254740993", "9007199254740993"},
    {"9007199254740995.0", "9007199254740996.0", "9007199254740996.0"},
    {"9007199254740992.99999999999999999999", "9007199254740992.0", "9007199254740992.0"},
    {"9007199254740993.00000000000000000000000000000000000001", "9007199254740994.0", "9007199254740994.0"},
    {"1.00000000000000011102230246251565", "1.0", "1.0"},
    {"1.00000000000000011102230246251566", "1.0000000000000002", "1.0000000000000002"},
    {"1.00000000000000011102230246251564", "1.0", "1.0"},
    {"2.2250738585072014e-308", "2.2250738585072014e-308", "2.2250738585072014e-308"},
    {"2.2250738585072011e-308", "2.225073858507201e-308", "2.225073858507201e-308"},
    {"2.2250738585072012e-308", "2.2250738585072014e-308", "2.2250738585072014e-308"},
    {"4.9e-324", "5e-324", "5e-324"},
    {"5e-324", "5e-324", "5e-324"},
    {"2.4703282292062327e-324", "0.0", "0.0"},
    {"2.4703282292062328e-324", "5e-324", "5e-324"},
    {"1e-400", "0.0", "0.0"},
    {"-1e-400", "-0.0", "-0.0"},
    {"1.7976931348623157e308", "1.7976931348623157e+308", "1.7976931348623157e+308"},
    {"1.7976931348623158e308", "1.7976931348623157e+308", "1.7976931348623157e+308"},
    {"1.7976931348623159e308", "inf", "Infinity"},
    {"1e400", "inf", "Infinity"},
    {"-1e400", "-inf", "-Infinity"},
    {"0e999999", "0.0", "0.0"},
    {"1e-999999", "0.0", "0.0"},
    {"8.41e21", "8.41e+21", "8.41e+21"},
    {"6.02214076e23", "6.02214076e+23", "6.02214076e+23"},
    {"1e22", "1e+22", "1e+22"},
    {"1e23", "1e+23", "1e+23"},
    {"9.5e-1", "0.95", "0.95"},
    {"7.2057594037927933e16", "7.205759403792794e+16", "7.205759403792794e+16"},
    {"3.2378839133029012895883524125015321748630094231459e-319", "3.23786e-319", "3.23786e-319"},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9223372036854775808", "9223372036854775808"},
    {"-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
    {"-9223372036854775809", "-9223372036854775809", "-9223372036854775809"},
    {"18446744073709551615", "18446744073709551615", "18446744073709551615"},
    {"18446744073709551616", "18446744073709551616", "18446744073709551616"},
    {"12345678901234567890123", "12345678901234567890123", "12345678901234567890123"},
    {"-12345678901234567890123", "-12345678901234567890123", "-12345678901234567890123"},
    {"170141183460469231731687303715884105727", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"},
    {"-170141183460469231731687303715884105727", "-170141183460469231731687303715884105727", "-170141183460469231731687303715884105727"},
    {"0.000", "0.0", "0.0"},
    {"100e-2", "1.0", "1.0"},
    {"12345678901234567890123e0", "1.2345678901234568e+22", "1.2345678901234568e+22"},
    {"10000000000000000000000000000000000000000.0", "1e+40", "1e+40"},
    // clang-format on
};

TEST(TemplateFromJson, NumbersAreWhatPythonReads) {
  for (const Number& number : kNumbers) {
    EXPECT_EQ(render("{{ x }}|{{ x|tojson }}", number.json), std::string(number.printed) + "|" + number.dumped)
        << number.json;
    EXPECT_EQ(render("{{ x|from_json|tojson }}", '"' + std::string(number.json) + '"'), number.dumped) << number.json;
  }
}

TEST(TemplateFromJson, AnIntegerBeyond127BitsFailsAndIsNamed) {
  constexpr const char* kTooLong = "{\"a\": [1, 170141183460469231731687303715884105728]}";
  EXPECT_EQ(complaint([] { render("{{ x }}", kTooLong); }),
            "template argument 'x': a[1]: an integer beyond 127 bits is not supported");
  EXPECT_EQ(complaint([] { render("{% set t = '[1' ~ '0' * 40 ~ ']' %}{{ t|from_json }}", "1"); }),
            "line 1: from_json: [0]: an integer beyond 127 bits is not supported");
}

TEST(TemplateFromJson, OfAKeyTwiceTheLastValueCounts) {
  EXPECT_EQ(render("{{ x }}", R"({"a": 1, "b": 2, "a": 3})"), "{'a': 3, 'b': 2}");
}

TEST(TemplateFromJson, WhatIsNoJsonIsNamed) {
  EXPECT_EQ(complaint([] { render("", "[1,]"); }), "template argument 'x': not JSON: syntax error at byte 3 of 4");
  EXPECT_EQ(complaint([] { render("{{ x|from_json }}", R"("nope")"); }),
            "line 1: from_json: not JSON: syntax error at byte 0 of 4");
}

std::string normalized(std::string_view messages) {
  TemplateVariables variables;
  variables.set_conversation(std::string(messages));
  return ChatTemplate::parse("{{ messages|tojson }}").render(variables, {});
}

TEST(NormalizeMessages, DropsNullsAndFillsInReasoning) {
  EXPECT_EQ(normalized(R"([{"role": "a", "content": null, "x": {"y": null}}])"),
            R"([{"role": "a", "x": {"y": null}}])");
  EXPECT_EQ(normalized(R"([{"role": "a", "reasoning": "r"}])"),
            R"([{"thinking": "r", "role": "a", "reasoning": "r", "reasoning_content": "r"}])");
  EXPECT_EQ(normalized(R"([{"role": "a", "reasoning_content": "c", "thinking": "t"}])"),
            R"([{"thinking": "t", "role": "a", "reasoning_content": "c"}])");
  EXPECT_EQ(normalized(R"([{"role": "a", "reasoning_content": null, "thinking": "t"}])"),
            R"([{"thinking": "t", "role": "a", "reasoning_content": "t"}])");
}

TEST(NormalizeMessages, WhatIsNoConversationIsRefused) {
  EXPECT_EQ(complaint([] { normalized("[]"); }), "the conversation is empty");
  EXPECT_EQ(complaint([] { normalized("{}"); }), "messages: not an array");
  EXPECT_EQ(complaint([] { normalized("[{}, 1]"); }), "message 1 is not an object");
}

}  // namespace
}  // namespace ingle
