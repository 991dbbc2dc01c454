// SentencePiece's byte-pair encoding, rule by rule; whole vocabularies are compared in tests/models.
#include <limits>

#include "tests/text/text_support.h"
#include "text/tokenizer.h"

namespace ingle {
namespace {

using test::encode_texts;
using test::repeat;
using test::spm_vocabulary;
using Texts = std::vector<std::string>;

constexpr EncodeOptions kPlain{.add_special = false};

TEST(Spm, TheHighestScoreIsMergedFirst) {
  const auto tokenizer = Tokenizer::create(
      spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"b", 0}, {"c", 0}, {"ab", -2}, {"bc", -1}, {"\u2581a", -3}}));
  EXPECT_EQ(encode_texts(*tokenizer, "abc", kPlain), (Texts{"\u2581a", "bc"}));
}

TEST(Spm, OfEqualScoresTheLeftmostIsMergedFirst) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"aa", -1}}));
  EXPECT_EQ(encode_texts(*tokenizer, "aaa", kPlain), (Texts{"\u2581", "aa", "a"}));
}

TEST(Spm, ASpaceIsPutInFrontAlsoOfASpace) {
  const auto tokenizer =
      Tokenizer::create(spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"\u2581a", -1}, {"\u2581\u2581", -2}}));
  EXPECT_EQ(encode_texts(*tokenizer, "a", kPlain), (Texts{"\u2581a"}));
  EXPECT_EQ(encode_texts(*tokenizer, " a", kPlain), (Texts{"\u2581", "\u2581a"}));
  EXPECT_EQ(encode_texts(*tokenizer, "", kPlain), Texts{});
  EXPECT_EQ(encode_texts(*tokenizer, "", {}), (Texts{"<s>"}));
}

TEST(Spm, TheSpaceComesAgainAfterASpecialToken) {
  const auto tokenizer =
      Tokenizer::create(spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"b", 0}, {"\u2581a", -1}, {"\u2581b", -1}}));
  const EncodeOptions special{.add_special = false, .parse_special = true};
  EXPECT_EQ(encode_texts(*tokenizer, "a<s>b", special), (Texts{"\u2581a", "<s>", "\u2581b"}));
  EXPECT_EQ(encode_texts(*tokenizer, "a<s> b", special), (Texts{"\u2581a", "<s>", "\u2581", "\u2581b"}));
}

TEST(Spm, WithoutThePrefixTextStaysAsItIs) {
  Vocabulary v = spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"\u2581a", -1}});
  v.add_space_prefix = false;
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(encode_texts(*tokenizer, "a a", kPlain), (Texts{"a", "\u2581a"}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(" a")), " a");
}

TEST(Spm, WhatIsNoTokenBecomesItsBytes) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary({{"\u2581", 0}, {"a", 0}}));
  EXPECT_EQ(encode_texts(*tokenizer, "a\u00E9", kPlain), (Texts{"\u2581", "a", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(encode_texts(*tokenizer, "\xFF\xE2", kPlain), (Texts{"\u2581", "<0xFF>", "<0xE2>"}));
}

TEST(Spm, WithoutByteTokensARunOfStrangersIsOneUnknown) {
  Vocabulary v;
  v.model = "llama";
  v.tokens = {"<unk>", "<s>", "</s>", "\u2581", "a", "<0x-1>", "<0xZZ>", "<0x1>", "<0x100>"};
  v.kinds = {TokenKind::kUnknown, TokenKind::kControl, TokenKind::kControl, TokenKind::kNormal, TokenKind::kNormal,
             TokenKind::kByte,    TokenKind::kByte,    TokenKind::kByte,    TokenKind::kByte};
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(encode_texts(*tokenizer, "\u00E9\u00E8a\u00E9", kPlain), (Texts{"\u2581", "<unk>", "a", "<unk>"}));
  EXPECT_EQ(tokenizer->piece(5), "<0x-1>");  // no byte, so what it says
}

TEST(Spm, TextNeverBecomesAControlOrByteTokenByItsSpelling) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary({{"\u2581", 0},
                                                           {"<", 0},
                                                           {"s", 0},
                                                           {">", 0},
                                                           {"<s", -1},
                                                           {"0", 0},
                                                           {"x", 0},
                                                           {"A", 0},
                                                           {"<0", 0},
                                                           {"xA", 0},
                                                           {"xA>", 0}}));
  EXPECT_EQ(encode_texts(*tokenizer, "<s>", kPlain), (Texts{"\u2581", "<s", ">"}));
  const std::vector<TokenId> ids = tokenizer->encode("<0x0A>", kPlain);
  for (TokenId id : ids) EXPECT_EQ(tokenizer->kind(id), TokenKind::kNormal);
}

TEST(Spm, WordsAreCutOnlyWhereNoTokenCrosses) {
  // "a\u2581b" crosses a space; its score is better than anything on either side.
  const auto tokenizer = Tokenizer::create(spm_vocabulary({{"\u2581", 0},
                                                           {"a", 0},
                                                           {"b", 0},
                                                           {"c", 0},
                                                           {"\u2581b", -3},
                                                           {"a\u2581", -2},
                                                           {"a\u2581b", -1},
                                                           {"\u2581c", -4}}));
  EXPECT_EQ(encode_texts(*tokenizer, "a b c", kPlain), (Texts{"\u2581", "a\u2581b", "\u2581c"}));
  EXPECT_EQ(encode_texts(*tokenizer, "c b", kPlain), (Texts{"\u2581c", "\u2581b"}));
}

TEST(Spm, DecodingTakesTheLeadingSpaceOffOnce) {
  const auto tokenizer =
      Tokenizer::create(spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"\u2581a", -1}, {"\u2581\u2581", -2}}));
  for (const char* text : {"a", " a", "  a", "a a", "", " ", "\u00E9", "a\xFF"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text), true), std::string("<s>") + (*text ? " " : "") + text);
  }
  EXPECT_EQ(tokenizer->piece(*tokenizer->find("\u2581a")), " a");
}

TEST(Spm, UserDefinedRunsOfSpacesAreFoundHoweverTheyAreWritten) {
  for (const char* run : {"   ", "\u2581\u2581\u2581"}) {
    Vocabulary v = spm_vocabulary({{"\u2581", 0}, {"a", 0}});
    v.add_space_prefix = false;
    v.tokens.push_back(run);
    v.kinds.push_back(TokenKind::kUserDefined);
    v.scores.push_back(0);
    const auto tokenizer = Tokenizer::create(v);
    const std::vector<TokenId> ids = tokenizer->encode("a    a", kPlain);
    EXPECT_EQ(ids[1], tokenizer->size() - 1);
    EXPECT_EQ(tokenizer->decode(ids), "a    a");
    EXPECT_EQ(tokenizer->encode("a\u2581 \u2581 a", kPlain), ids);
  }
}

TEST(Spm, Phi3TakesWhiteSpaceAfterItsMarkersAlong) {
  Vocabulary v = spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"\u2581a", -1}});
  v.name = "Phi-3 mini";
  v.tokens.push_back("<|user|>");
  v.kinds.push_back(TokenKind::kControl);
  v.scores.push_back(0);
  const auto tokenizer = Tokenizer::create(v);
  const EncodeOptions special{.add_special = false, .parse_special = true};
  EXPECT_EQ(encode_texts(*tokenizer, "<|user|>\n a", special), (Texts{"<|user|>", "\u2581a"}));
  EXPECT_EQ(encode_texts(*tokenizer, "<s> a", special), (Texts{"<s>", "\u2581", "\u2581a"}));
}

TEST(Spm, ScoresThatAreNoNumbersStillGiveAnOrder) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto tokenizer = Tokenizer::create(
      spm_vocabulary({{"\u2581", nan}, {"a", nan}, {"b", nan}, {"ab", nan}, {"ba", infinity}, {"aa", -infinity}}));
  EXPECT_EQ(encode_texts(*tokenizer, "abab", kPlain), (Texts{"\u2581", "a", "ba", "b"}));
}

TEST(Spm, RandomTextSurvivesTheRoundTrip) {
  const auto tokenizer = Tokenizer::create(
      spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"e", 0}, {"\u2581a", -1}, {"ae", -2}, {"\u2581\u2581", -1}}));
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    const std::string text = round % 2 ? test::random_bytes(random, 40) : test::random_text(random, 20);
    const std::vector<TokenId> ids = tokenizer->encode(text, kPlain);
    EXPECT_LE(ids.size(), text.size() + 1);
    if (text.find("\u2581") == std::string::npos) {
      EXPECT_EQ(tokenizer->decode(ids), text);
    }
  }
}

TEST(Spm, AMegabyteInOneWordIsMergedInBoundedTimeAndMemory) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary(
      {{"\u2581", 0}, {"a", 0}, {"aa", -1}, {"aaaa", -2}, {"\u2581\u2581", -3}, {repeat("a", 5000), -4}}));
  EXPECT_EQ(tokenizer->encode(repeat("a", 1 << 20), kPlain).size(), (1u << 18) + 1);
  EXPECT_EQ(tokenizer->encode(repeat(" ", (1 << 20) - 1), kPlain).size(), 1u << 19);
  EXPECT_EQ(tokenizer->warnings().size(), 1u);  // the token of 5000 bytes
}

}  // namespace
}  // namespace ingle
