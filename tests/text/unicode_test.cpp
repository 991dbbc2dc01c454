// NFC against Python's unicodedata, and UTF-8 decoding at its edges.
#include "text/unicode.h"

#include <gtest/gtest.h>

#include "tests/text/text_support.h"

namespace ingle {
namespace {

std::string from_code_points(std::string_view hex) {
  std::istringstream in{std::string(hex)};
  std::string out;
  for (std::string code; in >> code;) append_utf8(out, static_cast<char32_t>(std::stoul(code, nullptr, 16)));
  return out;
}

TEST(Nfc, AgreesWithPython) {
  size_t compared = 0, quick = 0;
  for (const std::string& line : test::data_lines("nfc_expected.txt")) {
    const size_t tab = line.find('\t');
    const std::string text = from_code_points(line.substr(0, tab)), want = from_code_points(line.substr(tab + 1));
    EXPECT_EQ(to_nfc(text), want) << line;
    EXPECT_EQ(to_nfc(want), want) << line;
    if (is_nfc_quick(text)) {
      EXPECT_EQ(text, want) << line;
      ++quick;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 400u);
  EXPECT_GT(quick, 10u);
}

TEST(Nfc, ComposesAcrossAMarkOfALowerClassOnly) {
  EXPECT_EQ(to_nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(to_nfc("e\u0323\u0302"), "\u1EC7");
  EXPECT_EQ(to_nfc("\u00C1\u0323"), "\u1EA0\u0301");
  EXPECT_EQ(to_nfc("a\u0302\u0301"), "\u1EA5");
  EXPECT_EQ(to_nfc("a\u0305\u0301"), "a\u0305\u0301");  // blocked: same class between
}

TEST(Nfc, HangulIsComposedAndSingletonsAreReplaced) {
  EXPECT_EQ(to_nfc("\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(to_nfc("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(to_nfc("\uAC00\u11A7"), "\uAC00\u11A7");
  EXPECT_EQ(to_nfc("\u212B"), "\u00C5");
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C");  // excluded from composition
}

TEST(Nfc, TheQuickCheckPassesOrdinaryText) {
  EXPECT_TRUE(is_nfc_quick("plain ASCII, caf\u00E9, \u65E5\u672C\u8A9E, \uD55C\uAD6D\uC5B4, \u0438\u0439, \U0001F600"));
  EXPECT_FALSE(is_nfc_quick("cafe\u0301"));
  EXPECT_FALSE(is_nfc_quick("x\u0315\u0316"));  // class 232 before class 220
}

TEST(Nfc, ALongRunOfMarksIsSortedInBoundedTime) {
  const std::string marks = test::repeat("\u0301\u0323", 1 << 18);
  const std::string want = test::repeat("\u0323", 1 << 18) + test::repeat("\u0301", 1 << 18);
  EXPECT_TRUE(to_nfc(marks) == want);
}

TEST(Utf8, EveryCodePointIsDecodedAsItWasWritten) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c == 0xD800) c = 0xE000;
    std::string text;
    append_utf8(text, c);
    const Utf8Step step = decode_utf8(text);
    ASSERT_TRUE(step.valid() && step.code == c && step.length == text.size()) << static_cast<uint32_t>(c);
  }
}

TEST(Utf8, WhatIsNotValidIsCoveredByMaximalBadPrefixes) {
  const auto invalid = [](std::string_view text) { return decode_utf8(text).valid() ? 0 : decode_utf8(text).length; };
  EXPECT_EQ(invalid("\x80"), 1);
  EXPECT_EQ(invalid("\xC0\x80"), 1);          // overlong
  EXPECT_EQ(invalid("\xE0\x80\x80"), 1);      // overlong
  EXPECT_EQ(invalid("\xED\xA0\x80"), 1);      // a surrogate
  EXPECT_EQ(invalid("\xF4\x90\x80\x80"), 1);  // above U+10FFFF
  EXPECT_EQ(invalid("\xF5\x80\x80\x80"), 1);
  EXPECT_EQ(invalid("\xE2\x82"
                    "A"),
            2);
  EXPECT_EQ(invalid("\xF0\x9F\x98"
                    "A"),
            3);
  EXPECT_EQ(decode_utf8("\xF0\x9F\x98").kind, Utf8Step::Kind::kIncomplete);
  EXPECT_EQ(decode_utf8("\xF0\x8F").kind, Utf8Step::Kind::kInvalid);
}

TEST(Utf8, TheValidPrefixStopsBeforeTheFirstBadByte) {
  EXPECT_EQ(valid_utf8_prefix(""), 0u);
  EXPECT_EQ(valid_utf8_prefix("0123456789abcdef\u00E9\xFF"), 18u);
  EXPECT_EQ(valid_utf8_prefix("01234567\xE2\x82"), 8u);
}

TEST(ByteAlphabet, IsOneToOne) {
  for (int b = 0; b < 256; ++b) EXPECT_EQ(kCharacterToByte[kByteToCharacter[static_cast<size_t>(b)]], b);
  EXPECT_EQ(kByteToCharacter[' '], U'\u0120');
  EXPECT_EQ(kByteToCharacter['\n'], U'\u010A');
  EXPECT_EQ(kCharacterToByte[' '], -1);
}

}  // namespace
}  // namespace ingle
