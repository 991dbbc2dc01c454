// Making a tokenizer from what a file says: what is refused, what is mended with a warning, which tokens have a role.
#include "text/tokenizer.h"

#include "ingle/error.h"
#include "tests/text/text_support.h"

namespace ingle {
namespace {

using test::byte_vocabulary;
using test::encode_texts;
using Texts = std::vector<std::string>;

ErrorCode code_of(Vocabulary v, std::string_view mentioned) {
  try {
    Tokenizer::create(std::move(v));
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(mentioned), std::string_view::npos) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing thrown: " << mentioned;
  return ErrorCode::kInternal;
}

bool warns(const Tokenizer& tokenizer, std::string_view what) {
  for (const std::string& warning : tokenizer.warnings()) {
    if (warning.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST(Tokenizer, UnknownModelsAndPreTokenisersAreRefusedByName) {
  Vocabulary v = byte_vocabulary({});
  v.pre = "never-heard-of";
  EXPECT_EQ(code_of(v, "never-heard-of"), ErrorCode::kUnsupported);
  for (const char* model : {"plamo2", "whitespace", "hybriddna", "none", "no_vocab", ""}) {
    v.model = model;
    EXPECT_EQ(code_of(v, model), ErrorCode::kUnsupported);
  }
  v.model = "plamo2";
  EXPECT_EQ(code_of(v, "known are llama, gpt2, gemma4, bert, t5, rwkv"), ErrorCode::kUnsupported);
  v.model = "none";
  EXPECT_EQ(code_of(v, "the file has no tokenizer"), ErrorCode::kUnsupported);
}

TEST(Tokenizer, ListsTooShortForTheTokensAreRefused) {
  Vocabulary v = byte_vocabulary({});
  v.kinds.pop_back();
  EXPECT_EQ(code_of(v, "token_type"), ErrorCode::kInvalidFile);
  v.kinds.clear();
  v.scores.assign(3, 0.0f);
  EXPECT_EQ(code_of(v, "scores"), ErrorCode::kInvalidFile);
  v.scores.clear();
  v.tokens.clear();
  EXPECT_EQ(code_of(v, "tokenizer.ggml.tokens"), ErrorCode::kInvalidFile);
}

TEST(Tokenizer, AMissingPreTokeniserIsTheDefaultWithAWarning) {
  Vocabulary v = byte_vocabulary({});
  v.pre.clear();
  EXPECT_TRUE(warns(*Tokenizer::create(v), "tokenizer.ggml.pre"));
}

TEST(Tokenizer, IdsOutOfRangeAreIgnoredWithAWarning) {
  for (int64_t id : {int64_t{-1}, int64_t{256}, int64_t{1} << 40}) {
    Vocabulary v = byte_vocabulary({});
    v.eos = id;
    v.eot = id;
    v.bos = id;
    v.add_bos = true;
    const auto tokenizer = Tokenizer::create(v);
    EXPECT_FALSE(tokenizer->eos() || tokenizer->bos() || tokenizer->eot() || tokenizer->adds_bos());
    EXPECT_TRUE(warns(*tokenizer, "eos_token_id"));
    EXPECT_TRUE(tokenizer->end_of_generation().empty());
    EXPECT_EQ(encode_texts(*tokenizer, "a"), (Texts{"a"}));
  }
}

TEST(Tokenizer, TheFirstOfEqualTextsCounts) {
  Vocabulary v = byte_vocabulary({});
  v.tokens.push_back("a");
  v.kinds.push_back(TokenKind::kNormal);
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->find("a"), 'a');
  EXPECT_TRUE(warns(*tokenizer, "occur again"));
}

TEST(Tokenizer, AnEmptyTextGetsAName) {
  Vocabulary v = byte_vocabulary({});
  v.tokens.push_back("");
  v.kinds.push_back(TokenKind::kUserDefined);
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->text(256), "[EMPTY_256]");
  EXPECT_EQ(encode_texts(*tokenizer, "ab"), (Texts{"a", "b"}));
}

TEST(Tokenizer, ControlTokensAreTextUnlessAskedFor) {
  const auto tokenizer = Tokenizer::create(byte_vocabulary({}, {"<|im_end|>"}));
  EXPECT_EQ(tokenizer->encode("<|im_end|>").size(), 10u);
  EXPECT_EQ(tokenizer->encode("x<|im_end|>\n", {.parse_special = true}), (std::vector<TokenId>{'x', 256, '\n'}));
  EXPECT_EQ(tokenizer->piece(256), "");
  EXPECT_EQ(tokenizer->piece(256, true), "<|im_end|>");
}

TEST(Tokenizer, UserDefinedTokensAlwaysMatchAndAlwaysShow) {
  Vocabulary v = byte_vocabulary({}, {"<think>"});
  v.kinds.back() = TokenKind::kUserDefined;
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->encode("a<think>"), (std::vector<TokenId>{'a', 256}));
  EXPECT_EQ(tokenizer->piece(256), "<think>");
}

TEST(Tokenizer, PaddingOfKindUnknownIsNeverMatched) {
  Vocabulary v = byte_vocabulary({}, {"[PAD7]", "<unk>"});
  v.kinds[256] = v.kinds[257] = TokenKind::kUnknown;
  v.unknown = 257;
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->encode("[PAD7]<unk>", {.parse_special = true}).size(), 7u);
}

TEST(Tokenizer, PlaceholdersMatchWhenAskedForAndNeverShow) {
  const auto tokenizer = Tokenizer::create(byte_vocabulary({}, {"<unused5>"}));
  EXPECT_EQ(tokenizer->encode("<unused5>", {.parse_special = true}), std::vector<TokenId>{256});
  EXPECT_EQ(tokenizer->kind(256), TokenKind::kUnused);
  EXPECT_EQ(tokenizer->piece(256, true), "");
}

TEST(Tokenizer, TheEndsOfAGenerationAreFoundByTheirTexts) {
  Vocabulary v = byte_vocabulary({}, {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_pad|>"});
  v.kinds[258] = TokenKind::kNormal;  // files get this wrong
  v.eos = 256;
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->eot(), 258);
  EXPECT_EQ(tokenizer->kind(258), TokenKind::kControl);
  EXPECT_TRUE(std::ranges::equal(tokenizer->end_of_generation(), std::vector<TokenId>{256, 258, 259}));
  EXPECT_TRUE(tokenizer->is_end_of_generation(259));
  EXPECT_FALSE(tokenizer->is_end_of_generation(257));
  EXPECT_FALSE(tokenizer->is_end_of_generation(-1));
}

TEST(Tokenizer, AKeyGoesBeforeDetection) {
  Vocabulary v = byte_vocabulary({}, {"<|im_end|>", "<turn>"});
  v.eot = 257;
  EXPECT_EQ(Tokenizer::create(v)->eot(), 257);
}

TEST(Tokenizer, InHarmonyTheEndOfAMessageIsNoEnd) {
  Vocabulary v = byte_vocabulary({}, {"<|return|>", "<|call|>", "<|end|>", "<|channel|>"});
  v.eos = 256;
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_TRUE(std::ranges::equal(tokenizer->end_of_generation(), std::vector<TokenId>{256, 257}));
  EXPECT_EQ(tokenizer->piece(258), "<|end|>");
  EXPECT_EQ(tokenizer->piece(259), "<|channel|>");
}

TEST(Tokenizer, WithToolResponsesTheStrikeTagIsNoEnd) {
  const auto tokenizer = Tokenizer::create(byte_vocabulary({}, {"<|tool_response>", "</s>"}));
  EXPECT_TRUE(tokenizer->is_end_of_generation(256));
  EXPECT_FALSE(tokenizer->is_end_of_generation(257));
}

TEST(Tokenizer, BeginAndEndAreAddedAsModelAndFileSay) {
  Vocabulary v = byte_vocabulary({}, {"<b>", "<e>"});
  v.bos = 256;
  v.eos = 257;
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "a"), (Texts{"a"}));
  v.pre = "llama3";
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "a"), (Texts{"<b>", "a"}));
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "a", {.add_special = false}), (Texts{"a"}));
  v.add_bos = false;
  v.add_eos = true;
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), "a"), (Texts{"a", "<e>"}));
  EXPECT_EQ(encode_texts(*Tokenizer::create(v), ""), (Texts{"<e>"}));
}

TEST(Tokenizer, ANumberThatIsNoTokenIsAnArgumentError) {
  const auto tokenizer = Tokenizer::create(byte_vocabulary({}));
  for (TokenId id : {-1, 256, INT32_MAX, INT32_MIN}) {
    EXPECT_THROW(tokenizer->piece(id), Error);
    EXPECT_THROW(tokenizer->text(id), Error);
    EXPECT_THROW(tokenizer->kind(id), Error);
    EXPECT_THROW(tokenizer->decode(std::vector<TokenId>{'a', id}), Error);
  }
}

}  // namespace
}  // namespace ingle
