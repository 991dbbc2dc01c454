// Leftmost-longest cutting, the white space some tokens take along, and a check against the obvious slow way.
#include "text/special_tokens.h"

#include <fmt/format.h>

#include "tests/text/text_support.h"
#include "text/tokenizer_base.h"

namespace ingle {
namespace {

using Parts = std::vector<std::string>;

std::string number(int32_t token) { return fmt::format("({})", token); }

// Text as it is, tokens as their number in parentheses.
Parts split(const SpecialTokenMatcher& matcher, std::string_view text) {
  Parts parts;
  for (const TextFragment& f : matcher.split(text)) {
    parts.push_back(f.token >= 0 ? number(f.token) : std::string(f.text));
  }
  return parts;
}

TEST(SpecialTokens, TheLeftmostMatchWins) {
  const SpecialTokenMatcher matcher({{"ab", 1}, {"bcd", 2}});
  EXPECT_EQ(split(matcher, "abcd"), (Parts{"(1)", "cd"}));
  EXPECT_EQ(split(matcher, "xbcdab"), (Parts{"x", "(2)", "(1)"}));
}

TEST(SpecialTokens, AtOnePlaceTheLongestWins) {
  const SpecialTokenMatcher matcher({{"<a>", 1}, {"<a><b>", 2}, {"<", 3}});
  EXPECT_EQ(split(matcher, "<a><b><a><<"), (Parts{"(2)", "(1)", "(3)", "(3)"}));
}

TEST(SpecialTokens, APrefixOfATokenIsText) {
  const SpecialTokenMatcher matcher({{"<|im_end|>", 1}});
  EXPECT_EQ(split(matcher, "<|im_<|im_end|>end|>"), (Parts{"<|im_", "(1)", "end|>"}));
  EXPECT_EQ(split(matcher, "<|im_end|"), (Parts{"<|im_end|"}));
  EXPECT_EQ(split(matcher, ""), Parts{});
}

TEST(SpecialTokens, TheSameTextTwiceMeansTheFirst) {
  EXPECT_EQ(split(SpecialTokenMatcher({{"x", 7}, {"x", 8}}), "x"), (Parts{"(7)"}));
}

TEST(SpecialTokens, WhiteSpaceIsTakenAlong) {
  const SpecialTokenMatcher matcher(
      {{.text = "<r>", .id = 1, .strip_right = true}, {.text = "<l>", .id = 2, .strip_left = true}});
  EXPECT_EQ(split(matcher, "a <r> \n\u3000b"), (Parts{"a ", "(1)", "b"}));
  EXPECT_EQ(split(matcher, "a \u00A0<l> b"), (Parts{"a", "(2)", " b"}));
  EXPECT_EQ(split(matcher, "<r>  <l>"), (Parts{"(1)", "(2)"}));
  EXPECT_EQ(split(matcher, "\xE3\x80<l>\xFF"), (Parts{"\xE3\x80", "(2)", "\xFF"}));
}

TEST(SpecialTokens, AMatchInsideTakenWhiteSpaceIsDropped) {
  const SpecialTokenMatcher matcher({{.text = "<r>", .id = 1, .strip_right = true}, {.text = "\n\n", .id = 2}});
  EXPECT_EQ(split(matcher, "<r>\n\n\nx\n\n"), (Parts{"(1)", "x", "(2)"}));
}

TEST(SpecialTokens, AgreesWithTryingEveryTokenAtEveryPlace) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 6; ++i) {
      std::string text;
      for (size_t n = 1 + random() % 5; n > 0; --n) text += "ab"[random() % 2];
      texts.push_back(text);
    }
    std::vector<SpecialToken> tokens;
    for (size_t i = 0; i < texts.size(); ++i) tokens.push_back({texts[i], static_cast<int32_t>(i)});
    std::string text;
    for (int i = 0; i < 60; ++i) text += "aabbc"[random() % 5];

    Parts want;
    std::string plain;
    for (size_t at = 0; at < text.size();) {
      int best = -1;
      for (size_t i = 0; i < texts.size(); ++i) {
        if (text.compare(at, texts[i].size(), texts[i]) != 0) continue;
        if (best < 0 || texts[i].size() > texts[static_cast<size_t>(best)].size()) best = static_cast<int>(i);
      }
      if (best < 0) {
        plain += text[at++];
        continue;
      }
      if (!plain.empty()) want.push_back(plain);
      plain.clear();
      want.push_back(number(best));
      at += texts[static_cast<size_t>(best)].size();
    }
    if (!plain.empty()) want.push_back(plain);
    EXPECT_EQ(split(SpecialTokenMatcher(tokens), text), want) << text;
  }
}

TEST(SpecialTokens, LongTokensThatNearlyMatchEverywhereCostNoMore) {
  const std::string nearly = test::repeat("a", 20000);
  const std::string token = nearly + "b", other = "a";
  const SpecialTokenMatcher matcher({{token, 1}, {other, 2}});
  EXPECT_EQ(matcher.split(test::repeat("a", 1 << 20)).size(), size_t{1} << 20);
}

// A file does not say which tokens take white space along: its kind does, and for older files its name.
TEST(SpecialTokens, OfPhi3TakeTheSpaceAfterThemAlongWhateverTheFileIsCalled) {
  Vocabulary v;
  v.model = "llama";
  v.architecture = "phi3";
  EXPECT_TRUE(strip_flags("<|end|>", v, false).right);
  EXPECT_FALSE(strip_flags("<s>", v, false).right);
  v.model = "gpt2";  // Phi 4
  EXPECT_FALSE(strip_flags("<|end|>", v, false).right);
  v = {};
  v.name = "Phi-3.5-mini-instruct";
  EXPECT_TRUE(strip_flags("<|end|>", v, false).right);
}

}  // namespace
}  // namespace ingle
