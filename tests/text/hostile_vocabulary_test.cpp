// Vocabularies that no training makes: refused with an Error, or encoding stays cheap.
#include <algorithm>

#include "tests/text/text_support.h"
#include "tests/text/tokenizer_kinds.h"

namespace ingle {
namespace {

using test::repeat;

bool warns(const Tokenizer& tokenizer, std::string_view what) {
  return std::ranges::any_of(tokenizer.warnings(), [&](const std::string& w) { return w.find(what) != w.npos; });
}

TEST(HostileVocabulary, MergesOfUnknownTokensAreIgnoredAndCounted) {
  Vocabulary v = test::byte_vocabulary({"a b"});
  v.merges.insert(v.merges.end(), {"ab nowhere", "x y", "", " ", "a", "a ", " b", "ab ab"});
  const auto t = Tokenizer::create(v);
  EXPECT_TRUE(warns(*t, "8 of 9 ignored")) << t->warnings().back();
  EXPECT_EQ(test::encode_texts(*t, "abab"), (std::vector<std::string>{"ab", "ab"}));
}

// A merge makes a longer text, so there is no way round in a circle; many ways to the same text are the worst there is.
TEST(HostileVocabulary, MergesThatMakeTheSameTextInManyWaysEnd) {
  std::vector<std::string> merges;
  for (size_t n = 2; n <= 24; ++n) {
    for (size_t left = 1; left < n; ++left) merges.push_back(repeat("a", left) + " " + repeat("a", n - left));
  }
  for (uint32_t seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    std::shuffle(merges.begin(), merges.end(), random);
    const auto t = Tokenizer::create(test::byte_vocabulary(merges));
    const std::string text = repeat("a", 1 << 18);
    const std::vector<TokenId> ids = t->encode(text);
    EXPECT_TRUE(t->decode(ids) == text);
    EXPECT_LT(ids.size(), text.size() / 2);
  }
}

TEST(HostileVocabulary, AHugeTokenMakesNoTextExpensive) {
  const std::string huge = repeat("a", 1 << 18);
  std::vector<Vocabulary> vocabularies = {test::long_run_vocabulary("gpt-2"),
                                          test::spm_vocabulary({{"a", 0}, {"aa", 0}}), test::word_piece_vocabulary(),
                                          test::unigram_vocabulary(true), test::rwkv_vocabulary()};
  for (Vocabulary& v : vocabularies) {
    for (TokenKind kind : {TokenKind::kNormal, TokenKind::kUserDefined, TokenKind::kControl}) {
      Vocabulary w = v;
      w.tokens.push_back(huge);
      w.kinds.push_back(kind);
      if (!w.scores.empty()) w.scores.push_back(1);
      const auto t = Tokenizer::create(std::move(w));
      for (const std::string& text : {huge.substr(1), huge + "b" + huge.substr(1)}) {
        EXPECT_LE(t->encode(text, {.parse_special = true}).size(), text.size() + 3) << v.model;
      }
    }
  }
}

TEST(HostileVocabulary, EmptyAndRepeatedTokensOfEveryKindAreHarmless) {
  for (Vocabulary v : {test::long_run_vocabulary("qwen2"), test::spm_vocabulary({{"a", 0}}),
                       test::word_piece_vocabulary(), test::unigram_vocabulary(false), test::rwkv_vocabulary()}) {
    const size_t scores = v.scores.size();
    for (const char* text : {"", "a", "a", "\u2581", "<s>", "<0x41>", "\\x4"}) {
      for (int kind = 0; kind < 7; ++kind) {
        v.tokens.push_back(text);
        v.kinds.push_back(static_cast<TokenKind>(kind));
        if (scores > 0) v.scores.push_back(0);
      }
    }
    const auto t = Tokenizer::create(v);
    for (bool special : {false, true}) {
      for (TokenId id : t->encode("a <s>A\\x4 \u2581\xFF", {.parse_special = special})) EXPECT_LT(id, t->size());
    }
  }
}

TEST(HostileVocabulary, AMillionAddedTokensWithOnePrefixAreMatchedInOnePass) {
  constexpr int kTokens = 1000000;
  Vocabulary v = test::byte_vocabulary({});
  for (int i = 0; i < kTokens; ++i) v.tokens.push_back("<extra_" + std::to_string(i) + ">");
  v.kinds.resize(v.tokens.size(), TokenKind::kUserDefined);
  const auto t = Tokenizer::create(std::move(v));
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "<extra_" + std::to_string(i * 50) + (i % 2 ? ">" : "<extra");
  const std::vector<TokenId> ids = t->encode(text);
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](TokenId id) { return id >= 256; }), 10000);
  EXPECT_TRUE(t->decode(ids) == text);
}

}  // namespace
}  // namespace ingle
