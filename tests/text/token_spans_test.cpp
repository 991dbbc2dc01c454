#include "text/token_spans.h"

#include <gtest/gtest.h>

#include "tests/text/text_support.h"

namespace ingle {
namespace {

using Spans = std::vector<TextSpan>;

Spans spans_of(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {.add_special = false}) {
  return token_spans(tokenizer, text, options, tokenizer.encode(text, options));
}

std::unique_ptr<const Tokenizer> qwen() {  // composes a text before it cuts it
  Vocabulary v = test::byte_vocabulary({"a b", "Ã ©"});
  v.pre = "qwen2";
  return Tokenizer::create(std::move(v));
}

TEST(TokenSpans, AreTheBytesOfEachPiece) {
  const auto tokenizer = Tokenizer::create(test::byte_vocabulary({"a b", "ab c"}));
  EXPECT_EQ(spans_of(*tokenizer, "abc ab"), (Spans{{0, 3}, {3, 4}, {4, 6}}));
  EXPECT_EQ(spans_of(*tokenizer, "é"), (Spans{{0, 1}, {1, 2}}));  // a character of two tokens
}

TEST(TokenSpans, OfTokensThatAreNotInTheTextAreEmpty) {
  Vocabulary v = test::byte_vocabulary({"a b"}, {"<s>"});
  v.bos = static_cast<int64_t>(v.tokens.size()) - 1;
  v.add_bos = true;
  const auto tokenizer = Tokenizer::create(std::move(v));
  EXPECT_EQ(spans_of(*tokenizer, "ab", {}), (Spans{{0, 0}, {0, 2}}));
  // Written out by somebody: text where it is not parsed, a token where it is.
  EXPECT_EQ(spans_of(*tokenizer, "<s>ab", {}), (Spans{{0, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 5}}));
  EXPECT_EQ(spans_of(*tokenizer, "<s>ab", {.parse_special = true}), (Spans{{0, 0}, {0, 3}, {3, 5}}));
}

TEST(TokenSpans, LeaveOutTheSpaceThatEncodingPutInFront) {
  const auto tokenizer =
      Tokenizer::create(test::spm_vocabulary({{"▁", -1}, {"▁▁", -2}, {"a", -3}, {"▁a", -4}, {"b", -5}}));
  EXPECT_EQ(spans_of(*tokenizer, "a b"), (Spans{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(spans_of(*tokenizer, " a"), (Spans{{0, 1}, {1, 2}}));
}

TEST(TokenSpans, OfATextThatIsComposedFirstAreThoseOfTheCharactersThatWereJoined) {
  const auto tokenizer = qwen();
  EXPECT_EQ(spans_of(*tokenizer, "abé"), (Spans{{0, 2}, {2, 4}}));                  // composed already
  EXPECT_EQ(spans_of(*tokenizer, "abe\u0301ab"), (Spans{{0, 2}, {2, 5}, {5, 7}}));  // e and a mark
}

TEST(TokenSpans, TakeAlongWhatANormaliserDropsButNoPunctuation) {
  const auto tokenizer = Tokenizer::create(test::word_piece_vocabulary({"▁don", "▁’", "▁t", "▁ki", "▁क", "ि"}));
  EXPECT_EQ(spans_of(*tokenizer, "DON’T"), (Spans{{0, 3}, {3, 6}, {6, 7}}));
  EXPECT_EQ(spans_of(*tokenizer, "K\u0301I"), (Spans{{0, 4}}));
  EXPECT_EQ(spans_of(*tokenizer, "KI\u200D\u0301"), (Spans{{0, 7}}));  // an invisible joiner and a mark
  EXPECT_EQ(spans_of(*tokenizer, "कि"), (Spans{{0, 3}, {3, 6}}));      // a vowel sign that is kept
  const std::string beyond = "KI\xF7\xBF\xBF\xBF";                     // no UTF-8
  EXPECT_EQ(spans_of(*tokenizer, beyond)[0].begin, 0u);
}

TEST(TokenSpans, AreInOrderAndCoverTheWholeOfAnyTextThatKeepsItsBytes) {
  const auto tokenizer = Tokenizer::create(test::byte_vocabulary({"a b", "Ġ a"}));
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::string text = test::random_text(random, 40);
    size_t at = 0;
    for (const TextSpan& span : spans_of(*tokenizer, text)) {
      EXPECT_EQ(span.begin, at);
      at = span.end;
    }
    EXPECT_EQ(at, text.size());
  }
}

TEST(TokenSpans, OfEveryTextAreInOrderAndInside) {
  const auto tokenizer = qwen();
  std::mt19937 random(8);
  for (int i = 0; i < 500; ++i) {
    const std::string text = test::random_text(random, 60) + "e\u0301\u0323";
    size_t at = 0;
    for (const TextSpan& span : spans_of(*tokenizer, text)) {
      EXPECT_LE(at, span.end);
      EXPECT_LE(span.begin, span.end);
      at = span.end;
    }
    EXPECT_LE(at, text.size());
  }
}

}  // namespace
}  // namespace ingle
