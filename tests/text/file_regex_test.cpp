// Oniguruma's notation in PCRE2. That the two engines cut alike is in the corpus of tokenizer.json; here is what is
// refused and what is bounded.
#include "text/file_regex.h"

#include <gtest/gtest.h>

#include "ingle/error.h"

namespace ingle {
namespace {

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  FileRegex::Scratch scratch;
  std::vector<TextRange> ranges;
  FileRegex(pattern).find_all(text, scratch, ranges);
  std::vector<std::string> out;
  for (const TextRange& range : ranges) out.emplace_back(text.substr(range.begin, range.end - range.begin));
  return out;
}

using Texts = std::vector<std::string>;

TEST(FileRegex, ClassesAreOnigurumas) {
  EXPECT_EQ(matches(R"([\p{L}&&[^a-m]]+)", "abcxyz\u00e9l"), (Texts{"xyz\u00e9"}));
  EXPECT_EQ(matches(R"([a[0-9]x]+)", "xa19b"), (Texts{"xa19"}));
  EXPECT_EQ(matches(R"([^[^a-c]]+)", "abcd"), (Texts{"abc"}));
  EXPECT_EQ(matches(R"(\h+)", "g0F-"), (Texts{"0F"}));             // hexadecimal, not a space
  EXPECT_EQ(matches(R"(\s)", "\u180E\u3000"), (Texts{"\u3000"}));  // U+180E is no white space
  EXPECT_EQ(matches(R"(\w+)", "a\u0301_\u00b2\u2163-"), (Texts{"a\u0301_\u00b2\u2163"}));
  EXPECT_EQ(matches(R"(\p{Han}+|\p{^Han})", "\u4e00\u3005a"), (Texts{"\u4e00\u3005", "a"}));
  EXPECT_EQ(matches(R"([\u4e00-\x{4E10}]+)", "\u4e01\u4e11"), (Texts{"\u4e01"}));
}

TEST(FileRegex, LinesAreOnigurumas) {
  EXPECT_EQ(matches("a$", "a\nab a"), (Texts{"a", "a"}));
  EXPECT_EQ(matches("(?m:a.)", "a\n"), (Texts{"a\n"}));
  EXPECT_EQ(matches("a.", "a\n"), Texts{});
}

TEST(FileRegex, EmptyMatchesComeOnceAtAPlace) {
  EXPECT_EQ(matches("x*", "axb").size(), 3u);  // before a, the x, at the end; none right behind the x
  EXPECT_EQ(matches("", "\u00e9b").size(), 3u);
}

TEST(FileRegex, TwoSpellingsOfOneClassAreOneText) {
  EXPECT_EQ(pcre2_from_oniguruma(R"([\u4E00-\u9FA5\x{3040}])"), pcre2_from_oniguruma("[\u4E00-\u9FA5\u3040]"));
  EXPECT_EQ(pcre2_from_oniguruma(R"((a)\-\p{Letter})"), pcre2_from_oniguruma(R"((?:a)-\p{L})"));
}

TEST(FileRegex, WhatCannotBeSaidAlikeIsRefused) {
  for (const char* pattern :
       {R"((a)\1)",       R"(\k<n>)",     R"(\g<1>)",       R"(\X)",          R"(\K)",          R"(\G)",
        R"((?~a))",       R"((?(1)a|b))", R"((?i:ss))",     R"((?i:\u00e9))", R"((?i:\p{Lu}))", R"(a{2}+)",
        R"(a{2}?)",       R"(\pL)",       R"(\p{InGreek})", R"(\x{110000})",  R"((*FAIL))",     R"([\w-z])",
        R"([[:punct:]])", R"(\Q)",        R"((?x: a))",     R"(\c)",          R"(\)",           R"([a)",
        R"((a)",          R"(a))",        R"([z-a])",       R"((?<=a+)b)",    R"([a&&])",       R"(**)",
        R"(\p{L)",        R"((?<n)",      R"((?)",          R"(\ud800)"}) {
    EXPECT_THROW(FileRegex{pattern}, Error) << pattern;
  }
}

TEST(FileRegex, ACatastrophicExpressionGivesUp) {
  FileRegex::Scratch scratch;
  std::vector<TextRange> ranges;
  EXPECT_THROW(FileRegex("(?:a+)+[bc]").find_all(std::string(60, 'a'), scratch, ranges), Error);
  // Deep, but linear: the small stack is not enough, the large one is.
  ranges.clear();
  FileRegex("(?:a|b)+").find_all(std::string(1 << 20, 'a'), scratch, ranges);
  EXPECT_EQ(ranges.size(), 1u);
}

TEST(FileRegex, ALongExpressionIsRefused) {
  EXPECT_THROW(FileRegex(std::string(1 << 20, 'a')), Error);
  EXPECT_THROW(FileRegex(std::string(5000, '(') + std::string(5000, ')')), Error);
  EXPECT_THROW(FileRegex(std::string(5000, '[') + "a" + std::string(5000, ']')), Error);
}

}  // namespace
}  // namespace ingle
