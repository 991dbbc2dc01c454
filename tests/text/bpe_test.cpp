// Byte-pair encoding: against Hugging Face on a vocabulary trained for the purpose, and the rules one by one.
#include <algorithm>
#include <thread>

#include "tests/text/text_support.h"
#include "text/tokenizer.h"

namespace ingle {
namespace {

using test::byte_vocabulary;
using test::encode_texts;
using test::letter;
using test::repeat;
using Texts = std::vector<std::string>;

std::unique_ptr<const Tokenizer> bytes(std::vector<std::string> merges, std::vector<std::string> control = {}) {
  return Tokenizer::create(byte_vocabulary(std::move(merges), std::move(control)));
}

TEST(Bpe, GivesTheIdsHuggingFaceGives) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "qwen2";  // NFC, and Qwen's words
  std::unique_ptr<const Tokenizer> tokenizer;
  size_t compared = 0;
  for (const std::string& line : test::data_lines("small_bpe.txt")) {
    const std::string rest = line.substr(line.find(' ') + 1);
    if (line[0] == 'V') {
      v.tokens.push_back(rest);
      v.kinds.push_back(line[1] == 'c'   ? TokenKind::kControl
                        : line[1] == 'u' ? TokenKind::kUserDefined
                                         : TokenKind::kNormal);
    } else if (line[0] == 'M') {
      v.merges.push_back(rest);
    } else {
      if (!tokenizer) tokenizer = Tokenizer::create(v);
      const size_t tab = rest.rfind('\t');
      const std::string text = test::unescape(rest.substr(0, tab));
      const std::vector<int64_t> want = test::numbers(rest.substr(tab));
      for (int again = 0; again < 2; ++again) {  // the second time, whole words are known
        const auto ids = tokenizer->encode(text, {.add_special = false, .parse_special = line[0] == 's'});
        EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()), want) << line;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 200u);
}

TEST(Bpe, TheLowestRankIsMergedFirst) {
  EXPECT_EQ(encode_texts(*bytes({"b c", "a b"}), "abc"), (Texts{"a", "bc"}));
  EXPECT_EQ(encode_texts(*bytes({"a b", "b c"}), "abc"), (Texts{"ab", "c"}));
}

TEST(Bpe, OfEqualRanksTheLeftmostIsMergedFirst) {
  const auto tokenizer = bytes({"a a", "aa a"});
  EXPECT_EQ(encode_texts(*tokenizer, "aaa"), (Texts{"aaa"}));
  EXPECT_EQ(encode_texts(*tokenizer, "aaaaa"), (Texts{"aa", "aaa"}));
  // The heap that long words use breaks ties the same way.
  const std::string odd = repeat("a", 101);
  const std::vector<TokenId> ids = tokenizer->encode(odd);
  ASSERT_EQ(ids.size(), 50u);
  EXPECT_EQ(std::count(ids.begin(), ids.end() - 1, tokenizer->find("aa")), 49);
  EXPECT_EQ(ids.back(), tokenizer->find("aaa"));
}

// Short words are merged by rescanning, long ones with a heap: the border must not show.
TEST(Bpe, LongAndShortWordsMergeAlike) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> merges;
    std::vector<std::string> parts{"a", "b"};
    for (int i = 0; i < 12; ++i) {
      const std::string left = parts[random() % parts.size()], right = parts[random() % parts.size()];
      if (std::find(parts.begin(), parts.end(), left + right) != parts.end()) continue;
      merges.push_back(left + " " + right);
      parts.push_back(left + right);
    }
    const auto tokenizer = bytes(merges);
    // By the definition: while any pair has a rank, join the leftmost of the lowest.
    const auto by_definition = [&](std::string_view word) {
      Texts symbols;
      for (char c : word) symbols.emplace_back(1, c);
      for (;;) {
        size_t best = merges.size(), at = 0;
        for (size_t i = 0; i + 1 < symbols.size(); ++i) {
          const std::string pair = symbols[i] + " " + symbols[i + 1];
          const auto rank = static_cast<size_t>(std::find(merges.begin(), merges.end(), pair) - merges.begin());
          if (rank < best) {
            best = rank;
            at = i;
          }
        }
        if (best == merges.size()) return symbols;
        symbols[at] += symbols[at + 1];
        symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
      }
    };
    for (size_t length : {1, 2, 3, 10, 40, 47, 48, 49, 50, 100, 300}) {
      std::string word;
      for (size_t i = 0; i < length; ++i) word += "ab"[random() % 2];
      EXPECT_EQ(encode_texts(*tokenizer, word), by_definition(word)) << word;
    }
  }
}

TEST(Bpe, AnyBytesSurviveTheRoundTrip) {
  const auto tokenizer = bytes({"a b", "t h", "th e", "\u0120 the", "\u00C3 \u00A9"});
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const std::string text = round % 2 ? test::random_bytes(random, 50) : test::random_text(random, 30);
    const std::vector<TokenId> ids = tokenizer->encode(text);
    EXPECT_EQ(tokenizer->decode(ids), text);
    EXPECT_LE(ids.size(), text.size() + 1);
    std::string pieces;
    for (TokenId id : ids) pieces += tokenizer->piece(id);
    EXPECT_EQ(pieces, text);
  }
}

TEST(Bpe, InvalidBytesStandApartAndKeepTheirNeighboursWhole) {
  EXPECT_EQ(encode_texts(*bytes({"a b"}),
                         "ab\xFF"
                         "ab"),
            (Texts{"ab", letter(0xFF), "ab"}));
}

TEST(Bpe, DecomposedTextIsComposedOnlyWhereTheModelDoes) {
  Vocabulary v = byte_vocabulary({"\u00C3 \u00A9"});
  EXPECT_EQ(Tokenizer::create(v)->encode("e\u0301").size(), 3u);
  v.pre = "qwen2";
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "e\u0301"), (Texts{"\u00C3\u00A9"}));
}

TEST(Bpe, IgnoreMergesTakesAWholeWordAtOnce) {
  Vocabulary v = byte_vocabulary({"a b"});
  v.tokens.push_back("abc");  // no merge makes it
  v.kinds.push_back(TokenKind::kNormal);
  v.add_bos = false;
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "abc"), (Texts{"ab", "c"}));
  v.pre = "llama-bpe";
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "abc"), (Texts{"abc"}));
}

TEST(Bpe, AByteWithoutATokenIsLeftOutBeforeMerging) {
  Vocabulary v = byte_vocabulary({"a b"});
  v.tokens[0x82] = "[unlisted]";
  const auto tokenizer = Tokenizer::create(v);
  ASSERT_EQ(tokenizer->notes().size(), 1u);
  EXPECT_EQ(encode_texts(*tokenizer, "\xE2\x82\xAC"), (Texts{letter(0xE2), letter(0xAC)}));
  v.merges.push_back(letter(0xE2) + " " + letter(0xAC));
  v.tokens.push_back(letter(0xE2) + letter(0xAC));
  v.kinds.push_back(TokenKind::kNormal);
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "\xE2\x82\xAC"), (Texts{letter(0xE2) + letter(0xAC)}));
}

TEST(Bpe, AnAddedTokenSpeltLikeAByteIsNotThatByte) {
  Vocabulary v = byte_vocabulary({});
  v.kinds[0xFF] = TokenKind::kUserDefined;  // its text is U+00FF
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->encode("\u00FF"), std::vector<TokenId>{0xFF});
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{0xFF}), "\u00FF");
  EXPECT_TRUE(tokenizer->encode("\xFF").empty());
}

TEST(Bpe, OddMergesAreIgnoredWithAWarning) {
  const auto tokenizer = [] {
    Vocabulary v = byte_vocabulary({"a b"});
    for (const char* merge : {"", " ", "a", "ab", "a ", " b", "x nothere", "a b c", "b a"}) v.merges.push_back(merge);
    return Tokenizer::create(v);
  }();
  EXPECT_EQ(encode_texts(*tokenizer, "abba"), (Texts{"ab", "b", "a"}));
  ASSERT_EQ(tokenizer->warnings().size(), 1u);
  EXPECT_NE(tokenizer->warnings()[0].find("9 of 10"), std::string::npos) << tokenizer->warnings()[0];
}

TEST(Bpe, ARepeatedMergeKeepsItsFirstRank) {
  Vocabulary v = byte_vocabulary({"a b", "b c"});
  v.merges.push_back("a b");
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "abc"), (Texts{"ab", "c"}));
}

TEST(Bpe, AMegabyteInOneWordIsMergedInBoundedTimeAndMemory) {
  const auto tokenizer = bytes({"a a", "aa aa", "aaaa aaaa", "\u0120 \u0120", "\u0120\u0120 \u0120\u0120"});
  const size_t n = 1 << 20;
  EXPECT_EQ(tokenizer->encode(repeat("a", n)).size(), n / 8);
  EXPECT_EQ(tokenizer->encode(repeat(" ", n)).size(), n / 4);
  EXPECT_EQ(tokenizer->encode(repeat("\xFF", n)).size(), n);
}

TEST(Bpe, ManyThreadsMayEncodeAtOnce) {
  const auto tokenizer = bytes({"t h", "th e", "\u0120 the", "h e"});
  const std::string text = repeat("the he the te ", 50);
  const std::vector<TokenId> want = bytes({"t h", "th e", "\u0120 the", "h e"})->encode(text);
  std::vector<std::thread> threads;
  std::vector<int> same(4, 0);
  for (size_t t = 0; t < same.size(); ++t) {
    threads.emplace_back([&, t] { same[t] = tokenizer->encode(text) == want; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>(4, 1));
}

// Gemma 4: characters are merged, spaces are U+2581, runs of newlines are tokens of their own.
class GemmaBpe : public ::testing::Test {
 protected:
  GemmaBpe() {
    v_.model = "gemma4";
    v_.tokens = {"<pad>", "<eos>", "<bos>", "<unk>"};
    v_.kinds = {TokenKind::kControl, TokenKind::kControl, TokenKind::kControl, TokenKind::kUnknown};
    v_.bos = 2;
    v_.eos = 1;
    v_.unknown = 3;
    v_.add_bos = false;  // files say so; the model needs it
    for (const char* text : {"\u2581", "a", "b", "\u2581a", "ab", "\n", "\n\n", "<0xC3>", "<0xA9>"}) {
      v_.tokens.push_back(text);
      v_.kinds.push_back(text[0] == '<' ? TokenKind::kByte : TokenKind::kNormal);
    }
    v_.merges = {"\u2581 a", "a b"};
  }
  Vocabulary v_;
};

TEST_F(GemmaBpe, SpacesAreMarkedAndMerged) {
  const auto tokenizer = Tokenizer::create(v_);
  EXPECT_EQ(encode_texts(*tokenizer, "ab ab", {.add_special = false}), (Texts{"ab", "\u2581a", "b"}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab ab")), "ab ab");
}

TEST_F(GemmaBpe, TheOtherSpellingInFilesMeansTheSame) {
  const auto expected = Tokenizer::create(v_)->encode("ab ab\n");
  v_.model = "llama";
  v_.pre = "gemma4";
  EXPECT_EQ(Tokenizer::create(v_)->encode("ab ab\n"), expected);
}

TEST_F(GemmaBpe, ARunOfNewlinesThatIsATokenIsTakenWhole) {
  EXPECT_EQ(encode_texts(*Tokenizer::create(v_), "a\n\n\nb\n\n", {.add_special = false}),
            (Texts{"a", "\n", "\n", "\n", "b", "\n\n"}));
}

TEST_F(GemmaBpe, WhatIsNoTokenFallsBackToBytesOrToOneUnknown) {
  const auto tokenizer = Tokenizer::create(v_);
  EXPECT_EQ(encode_texts(*tokenizer, "\u00E9", {.add_special = false}), (Texts{"<0xC3>", "<0xA9>"}));
  EXPECT_EQ(encode_texts(*tokenizer, "a\u4E2D\u4E2Db", {.add_special = false}), (Texts{"a", "<unk>", "b"}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\u00E9")), "a\u00E9");
}

TEST_F(GemmaBpe, BosIsAddedWhateverTheFileSays) {
  EXPECT_EQ(encode_texts(*Tokenizer::create(v_), "a"), (Texts{"<bos>", "a"}));
}

}  // namespace
}  // namespace ingle
