// Rerankers: one number of what a classifier gives, and pairs of texts as it reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "apps/ingle/rerank/relevance.h"
#include "ingle/ingle.h"
#include "tests/models/encoders.h"

namespace ingle::app {
namespace {

using testing::ElementsAre;

ModelInfo labelled(std::vector<std::string> labels) {
  ModelInfo info;
  info.path = "m.gguf";
  info.labels = std::move(labels);
  return info;
}

double relevance(std::vector<std::string> labels, const std::vector<float>& scores) {
  return Relevance(labelled(std::move(labels)))(scores);
}

TEST(Relevance, OfOneNumberIsItsLogisticFunction) {
  EXPECT_DOUBLE_EQ(relevance({""}, {0}), 0.5);
  EXPECT_DOUBLE_EQ(relevance({"relevant"}, {2}), 1 / (1 + std::exp(-2.0)));
}

TEST(Relevance, OfYesAndNoIsTheShareOfYes) {
  EXPECT_DOUBLE_EQ(relevance({"yes", "no"}, {3, 1}), 1 / (1 + std::exp(-2.0)));
  EXPECT_DOUBLE_EQ(relevance({"no", "yes"}, {3, 1}), 1 / (1 + std::exp(2.0)));
}

TEST(Relevance, OfOtherLabelsIsRefused) {
  for (const auto& [labels, message] :
       {std::pair{std::vector<std::string>{},
                  "m.gguf: has no classifier (cls.output.weight): it is no reranker; ingle embed compares texts"},
        {{"joy", "fear", "rage"},
         "m.gguf: its classifier scores 3 (joy, fear, rage); a reranker's scores one thing, or yes and no"}}) {
    try {
      Relevance{labelled(labels)};
      ADD_FAILURE() << message;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
      EXPECT_STREQ(e.what(), message);
    }
  }
}

class Pairs : public testing::Test {
 protected:
  std::vector<std::string> texts(const TokenPair& pair) const {
    std::vector<std::string> all;
    for (const TokenId id : pair.tokens) all.push_back(model_.token_text(id));
    return all;
  }
  Engine engine_{{.threads = 1, .isa = {}, .exact = true, .log = {}}};
  Model model_ = Model::open(engine_, golden::path("bert_rerank.gguf"));
};

TEST_F(Pairs, HaveTheirMarksAroundBothTexts) {
  const TokenPair pair = model_.tokenize_pair("The cat", "sat. [SEP]");
  EXPECT_THAT(texts(pair),
              ElementsAre("[CLS]", "▁the", "▁cat", "[SEP]", "▁sat", "▁.", "[UNK]", "▁s", "e", "p", "[UNK]", "[SEP]"));
  EXPECT_EQ(pair.second_text, 4);
}

TEST_F(Pairs, AreCutInTheSecondText) {
  const TokenPair pair = model_.tokenize_pair("the cat", "sat on the mat", 7);
  EXPECT_THAT(texts(pair), ElementsAre("[CLS]", "▁the", "▁cat", "[SEP]", "▁sat", "▁on", "[SEP]"));
  EXPECT_THROW(model_.tokenize_pair("the cat", "sat on the mat", 5), Error);
}

TEST_F(Pairs, OneTextIsCutBeforeItsEndToken) {
  const std::vector<TokenId> cut = model_.tokenize("the cat sat", {.most = 4});
  EXPECT_THAT(texts({cut, 0}), ElementsAre("[CLS]", "▁the", "▁cat", "[SEP]"));
  EXPECT_THROW(model_.tokenize("the cat sat", {.most = 2}), Error);
  EXPECT_EQ(TokenizerFile::open(model_.info().path).tokenize("the cat sat", {.most = 4}), cut);
  EXPECT_EQ(model_.tokenize("the cat", {.most = 4}), model_.tokenize("the cat"));
}

// By a template, which the file has under a name of its own.
class TemplatedPairs : public Pairs {
 protected:
  TemplatedPairs() {
    model_ = Model::open(engine_, golden_.file());
    for (const golden::EncodedText& text : golden_.texts)
      if (!text.query.empty()) pair_ = text;
  }
  golden::Encoder golden_ = golden::load_encoder("qwen3_rerank");
  golden::EncodedText pair_;
};

TEST_F(TemplatedPairs, AreTheTokensOfTheTemplateWithBothTextsInIt) {
  ASSERT_FALSE(pair_.document.empty());
  EXPECT_EQ(model_.tokenize_pair(pair_.query, pair_.document).tokens, pair_.tokens);
}

TEST_F(TemplatedPairs, OnlyTheTemplateWritesControlTokens) {
  const auto ends = [&](const std::vector<std::string>& all) { return std::ranges::count(all, "<|im_end|>"); };
  EXPECT_EQ(ends(texts(model_.tokenize_pair("{document}<|im_end|>", "a{query}<|im_end|>"))), 2);
}

TEST_F(TemplatedPairs, AreCutInTheSecondTextAndKeepTheTemplatesEnd) {
  const auto all = static_cast<int64_t>(pair_.tokens.size());
  const TokenPair cut = model_.tokenize_pair(pair_.query, pair_.document, all - 5);
  EXPECT_LE(std::ssize(cut.tokens), all - 5);
  EXPECT_TRUE(std::equal(cut.tokens.end() - 10, cut.tokens.end(), pair_.tokens.end() - 10));
  EXPECT_THROW(model_.tokenize_pair(pair_.query, pair_.document, 100), Error);
}

}  // namespace
}  // namespace ingle::app
