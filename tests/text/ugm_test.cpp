// The unigram model: against SentencePiece, and by hand where a file can be odd.
#include "text/ugm.h"

#include <cmath>

#include "ingle/error.h"
#include "tests/text/text_support.h"

namespace ingle {
namespace {

using test::encode_texts;
using Texts = std::vector<std::string>;

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

TEST(Ugm, EveryTrainedModelCutsAsSentencePieceDoes) {
  std::vector<std::string> texts;
  Vocabulary v;
  std::unique_ptr<const Tokenizer> tokenizer;
  std::string name;
  size_t next = 0, models = 0, compared = 0;
  for (const std::string& line : test::data_lines("unigram_models.txt")) {
    const std::string rest = line.size() > 2 ? line.substr(2) : "";
    switch (line[0]) {
      case 'T':
        texts.push_back(test::unescape(rest));
        break;
      case 'P':
        v = {};
        v.model = "t5";
        v.unknown = 0;
        v.add_eos = false;
        break;
      case 'C':
        v.precompiled_charsmap = from_hex(rest);
        break;
      case 'V': {
        const size_t score = rest.find(' ') + 1, text = rest.find(' ', score) + 1;
        v.kinds.push_back(static_cast<TokenKind>(std::stoi(rest)));
        v.scores.push_back(std::stof(rest.substr(score)));
        v.tokens.push_back(test::unescape(std::string_view(rest).substr(text)));
        break;
      }
      case 'M':
        v.add_space_prefix = rest[0] == '1';
        v.remove_extra_whitespaces = rest[2] == '1';
        v.space_is_suffix = rest[4] == '1';
        name = rest;
        tokenizer = Tokenizer::create(v);
        next = 0;
        ++models;
        break;
      case 'i': {
        const std::string& text = texts.at(next++);
        if (rest == "tie") break;  // SentencePiece adds in float32
        const std::vector<TokenId> ids = tokenizer->encode(text);
        EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()), test::numbers(rest)) << name << ": " << text;
        ++compared;
        break;
      }
    }
  }
  EXPECT_EQ(models, 8u);
  EXPECT_GT(compared, models * (texts.size() - 3));
  EXPECT_GT(texts.size(), 150u);
}

// Ids 0-3: pad, eos, unk and a control token.
Vocabulary vocabulary(const std::vector<std::pair<std::string, float>>& pieces) {
  Vocabulary v;
  v.model = "t5";
  v.tokens = {"<pad>", "</s>", "<unk>", "<extra>"};
  v.kinds = {TokenKind::kControl, TokenKind::kControl, TokenKind::kUnknown, TokenKind::kControl};
  v.scores.assign(4, 0.0f);
  for (const auto& [text, score] : pieces) {
    v.tokens.push_back(text);
    v.kinds.push_back(TokenKind::kNormal);
    v.scores.push_back(score);
  }
  return v;
}

TEST(Ugm, TheBestSumWinsNotTheLongestPiece) {
  const auto t = Tokenizer::create(vocabulary({{"▁", -1}, {"▁ab", -9}, {"▁a", -2}, {"bc", -2}, {"c", -2}}));
  EXPECT_EQ(encode_texts(*t, "abc"), (Texts{"▁a", "bc", "</s>"}));
  EXPECT_EQ(t->decode(t->encode("abc")), "abc");
}

TEST(Ugm, EmptyTextIsOnlyTheEnd) {
  const auto t = Tokenizer::create(vocabulary({{"▁", -1}}));
  EXPECT_EQ(encode_texts(*t, ""), (Texts{"</s>"}));
  EXPECT_EQ(encode_texts(*t, "   "), (Texts{"</s>"}));
  EXPECT_TRUE(t->encode("", {.add_special = false}).empty());
}

TEST(Ugm, ARunOfUnknownCharactersIsOneUnknown) {
  const auto t = Tokenizer::create(vocabulary({{"▁", -1}, {"a", -1}}));
  EXPECT_EQ(encode_texts(*t,
                         "axyz\xFF"
                         "a"),
            (Texts{"▁", "a", "<unk>", "a", "</s>"}));
}

TEST(Ugm, ControlTokensAreCutOutOnlyWhenAskedFor) {
  const auto t = Tokenizer::create(vocabulary({{"▁", -1}, {"a", -1}}));
  EXPECT_EQ(encode_texts(*t, "a<extra>a", {.parse_special = true}), (Texts{"▁", "a", "<extra>", "▁", "a", "</s>"}));
  EXPECT_EQ(encode_texts(*t, "a<extra>a"), (Texts{"▁", "a", "<unk>", "a", "<unk>", "a", "</s>"}));
}

TEST(Ugm, ScoresThatAreNoNumbersAndOverlongPiecesAreLeftOutWithAWarning) {
  Vocabulary v = vocabulary({{"▁", -1}, {"a", std::nanf("")}, {"b", INFINITY}, {std::string(2000, 'c'), 5}});
  const auto t = Tokenizer::create(v);
  EXPECT_EQ(encode_texts(*t, "ab"), (Texts{"▁", "<unk>", "</s>"}));
  ASSERT_FALSE(t->warnings().empty());
  EXPECT_NE(t->warnings().back().find("3 are longer"), std::string::npos) << t->warnings().back();
}

TEST(Ugm, ABrokenCharacterMapIsRefusedByItsSizes) {
  for (const std::string& map : {std::string("abc"), std::string(4, '\0'), std::string("\x08\0\0\0abcdefgh", 12),
                                 std::string("\x03\0\0\0abcdefgh", 12),
                                 std::string("\xFF\xFF\xFF\xFF"
                                             "abcd",
                                             8)}) {
    Vocabulary v = vocabulary({{"▁", -1}});
    v.precompiled_charsmap = map;
    try {
      Tokenizer::create(v);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
      EXPECT_NE(std::string(error.what()).find("precompiled_charsmap"), std::string::npos);
    }
  }
}

TEST(Ugm, ACharacterMapOfRandomNodesReadsNowhereElse) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    Vocabulary v = vocabulary({{"▁", -1}, {"a", -1}});
    v.precompiled_charsmap = std::string("\x00\x04\0\0", 4) + test::random_bytes(random, 1024 + random() % 64 + 1);
    const auto t = Tokenizer::create(v);
    for (TokenId id : t->encode(test::random_bytes(random, 300))) EXPECT_LT(id, t->size());
  }
}

// Of architectures whose tokenizers say so, which GGUF has no key for.
TEST(Ugm, TheMaskTakesTheSpaceBeforeItWhereTheArchitectureSaysSo) {
  Vocabulary v;
  v.model = "t5";
  v.tokens = {"<unk>", "a", "<mask>", "▁", "▁a"};
  v.kinds = {TokenKind::kUnknown, TokenKind::kNormal, TokenKind::kControl, TokenKind::kNormal, TokenKind::kNormal};
  v.scores = {0, -1, 0, -2, -1};
  v.unknown = 0;
  v.add_eos = false;
  v.remove_extra_whitespaces = false;
  for (const auto& [architecture, space] :
       {std::pair{"nomic-bert-moe", false}, {"jina-bert-v3", false}, {"bert", true}}) {
    v.architecture = architecture;
    const std::vector<TokenId> ids =
        Tokenizer::create(v)->encode("a <mask>", {.add_special = false, .parse_special = true});
    EXPECT_EQ(ids, space ? (std::vector<TokenId>{4, 3, 2}) : (std::vector<TokenId>{4, 2})) << architecture;
  }
}

}  // namespace
}  // namespace ingle
