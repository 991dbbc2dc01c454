#include "text/json_document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ingle/error.h"

namespace ingle {
namespace {

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal);
    return error.what();
  }
  return "nothing thrown";
}

std::string syntax_error(std::string_view text) {
  return message_of([&] { JsonDocument(text, "x.json"); });
}

TEST(JsonDocument, ValuesAreWhatTheTextSays) {
  const JsonDocument document(R"({"a": [1, -2, 0.1, "z\u00e9\n"], "b": {"c": true, "d": null}, "e": 1e300})", "x.json");
  const JsonValue root = document.root();
  EXPECT_EQ(root.size(), 3u);
  std::vector<std::string> kinds;
  auto item = root.at("a").items().begin();
  EXPECT_EQ((*item).integer(), 1);
  ++item;
  EXPECT_EQ((*item).integer(), -2);
  ++item;
  EXPECT_EQ((*item).number(), 0.1);
  ++item;
  EXPECT_EQ((*item).string(), "z\u00e9\n");
  EXPECT_TRUE(root.at("b").at("c").boolean());
  EXPECT_TRUE(root.at("b").at("d").is_null());
  EXPECT_EQ(root.at("e").number(), 1e300);
  EXPECT_FALSE(root.find("f"));
}

TEST(JsonDocument, NumbersAreTheNearestDoubles) {
  // The parser underneath gets these wrong by one place.
  const JsonDocument document("[-9.3263225555419921875, 5.10501e-7, -12.676719665527344, 0.30000000000000004]",
                              "x.json");
  const double wanted[] = {-9.3263225555419921875, 5.10501e-7, -12.676719665527344, 0.30000000000000004};
  size_t i = 0;
  for (JsonValue value : document.root().items()) EXPECT_EQ(value.number(), wanted[i++]);
}

TEST(JsonDocument, NumbersBeyondADoubleAreInfiniteOrZero) {
  const double infinite = std::numeric_limits<double>::infinity();
  const JsonDocument document("[1e400, -1e400, 1e-400, -1e-400, 1" + std::string(400, '0') + ".0, -1" +
                                  std::string(400, '0') + ", 0." + std::string(400, '0') + "1]",
                              "x.json");
  const double wanted[] = {infinite, -infinite, 0, -0.0, infinite, -infinite, 0};
  size_t i = 0;
  for (JsonValue value : document.root().items()) {
    EXPECT_EQ(value.number(), wanted[i]) << i;
    EXPECT_EQ(std::signbit(value.number()), std::signbit(wanted[i])) << i;
    ++i;
  }
}

TEST(JsonDocument, IntegersBeyond64BitsKeepTheirDigits) {
  const JsonDocument document(
      "[9223372036854775807, -9223372036854775808, 9223372036854775808, -9223372036854775809, 18446744073709551616, "
      "-0]",
      "x.json");
  std::vector<std::string> read;
  for (JsonValue value : document.root().items())
    read.push_back(value.is_integer() ? std::to_string(value.integer()) : "long " + std::string(value.digits()));
  EXPECT_EQ(read, (std::vector<std::string>{"9223372036854775807", "-9223372036854775808", "long 9223372036854775808",
                                            "long -9223372036854775809", "long 18446744073709551616", "0"}));
  const JsonDocument longer("12345678901234567890123", "x.json");
  EXPECT_EQ(longer.root().number(), 12345678901234567890123.0);
  EXPECT_EQ(message_of([&] { longer.root().integer(); }), "x.json: is an integer beyond 64 bits, not an integer");
}

TEST(JsonDocument, ErrorsNameThePlace) {
  const JsonDocument document(R"({"model": {"merges": ["a b", 7], "vocab": {"x": []}}})", "x.json");
  const JsonValue model = document.root().at("model");
  auto second = model.at("merges").items().begin();
  ++second;
  EXPECT_EQ(message_of([&] { (*second).string(); }), "x.json: model.merges[1]: is an integer, not a string");
  EXPECT_EQ(message_of([&] { model.at("vocab").at("x").integer(); }),
            "x.json: model.vocab.x: is an array, not an integer");
  EXPECT_EQ(message_of([&] { model.at("type"); }), "x.json: model: has no \"type\"");
  EXPECT_EQ(message_of([&] { model.allow_only({"merges"}); }), "x.json: model.vocab: not known here");
  EXPECT_EQ(message_of([&] { document.root().items(); }), "x.json: is an object, not an array");
}

TEST(JsonDocument, AKeyTwiceIsFoundWhereKeysAreNamed) {
  const JsonDocument document(R"({"a": 1, "a": 2})", "x.json");
  EXPECT_EQ(message_of([&] { document.root().allow_only({"a"}); }), "x.json: a: given twice");
}

TEST(JsonDocument, WhatIsNoJsonSaysWhere) {
  EXPECT_EQ(syntax_error("[1, 2"), "x.json: not JSON: incomplete JSON at byte 5 of 5");
  EXPECT_NE(syntax_error("[1] 2").find("byte 4 of 5"), std::string::npos);
  EXPECT_NE(syntax_error("{\"a\": 0x1}").find("byte 7"), std::string::npos);
  EXPECT_NE(syntax_error("[\"\xFF\"]").find("byte"), std::string::npos);
  EXPECT_NE(syntax_error("[\"\\ud800\"]").find("byte"), std::string::npos);
  EXPECT_NE(syntax_error("").find("byte 0 of 0"), std::string::npos);
}

TEST(JsonDocument, DepthAndNumberOfValuesAreBounded) {
  EXPECT_NE(syntax_error(std::string(100000, '[')).find("byte 100"), std::string::npos);
  std::string many = "[0";
  for (int i = 0; i < 17'000'000; ++i) many += ",0";
  EXPECT_NE(syntax_error(many + "]").find("more than 16777216 values"), std::string::npos);
}

}  // namespace
}  // namespace ingle
