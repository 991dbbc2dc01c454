// Embeddings: pooling and cosines by hand, texts by line, and vectors of golden models that do not depend on what else
// is read or computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "apps/ingle/embed/embed_texts.h"
#include "apps/ingle/embed/texts.h"
#include "tests/models/encoders.h"

namespace ingle::app {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

std::vector<float> pooled(Pooling pooling, bool normalize, const std::vector<std::vector<float>>& rows) {
  Pooler pooler(pooling);
  for (const std::vector<float>& row : rows) pooler.add(row);
  return pooler.embedding(normalize);
}

TEST(Pooling, TakesTheMeanOfAllRows) {
  EXPECT_THAT(pooled(Pooling::kMean, false, {{1, 2}, {3, -2}, {5, 6}}), ElementsAre(3, 2));
}

TEST(Pooling, TakesTheFirstRow) { EXPECT_THAT(pooled(Pooling::kCls, false, {{1, 2}}), ElementsAre(1, 2)); }

TEST(Pooling, TakesTheLastRow) {
  EXPECT_THAT(pooled(Pooling::kLast, false, {{1, 2}, {3, -2}, {5, 6}}), ElementsAre(5, 6));
}

TEST(Pooling, NormalizedVectorsHaveLengthOne) {
  EXPECT_THAT(pooled(Pooling::kLast, true, {{3, -4}}), ElementsAre(FloatEq(0.6f), FloatEq(-0.8f)));
  EXPECT_THAT(pooled(Pooling::kMean, true, {{6, 0}, {0, -8}}), ElementsAre(FloatEq(0.6f), FloatEq(-0.8f)));
}

TEST(Pooling, AVectorOfZerosStaysOne) {
  EXPECT_THAT(pooled(Pooling::kMean, true, {{1, 2}, {-1, -2}}), ElementsAre(0, 0));
}

TEST(Pooling, OnlyTheRowThatCountsIsWanted) {
  EXPECT_EQ(wanted_rows(Pooling::kLast), Want::kLast);
  EXPECT_EQ(wanted_rows(Pooling::kCls), Want::kFirst);
  EXPECT_EQ(wanted_rows(Pooling::kMean), Want::kAll);
}

TEST(Pooling, HasTheNamesOfOptions) {
  for (const char* name : {"mean", "cls", "last"}) {
    ASSERT_TRUE(find_pooling(name)) << name;
    EXPECT_EQ(to_string(*find_pooling(name)), name);
  }
  EXPECT_FALSE(find_pooling("rank"));
}

TEST(Cosine, IsThatOfTheAngle) {
  EXPECT_DOUBLE_EQ(cosine(std::vector<float>{1, 0}, std::vector<float>{1, 1}), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(cosine(std::vector<float>{2, 0}, std::vector<float>{0, 3}), 0);
  EXPECT_DOUBLE_EQ(cosine(std::vector<float>{2, 0}, std::vector<float>{-5, 0}), -1);
  EXPECT_EQ(cosine(std::vector<float>{0.1f, 0.7f, -3}, std::vector<float>{0.1f, 0.7f, -3}), 1);
  EXPECT_EQ(cosine(std::vector<float>{0, 0}, std::vector<float>{1, 1}), 0);
}

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> all;
  for (const PlacedText& line : split_lines(text, "f")) all.push_back(line.place + "=" + line.text);
  return all;
}

TEST(Texts, AreLinesWithOrWithoutAnEndOfTheLast) {
  EXPECT_THAT(lines("a\nb\n"), ElementsAre("f: line 1=a", "f: line 2=b"));
  EXPECT_THAT(lines("a\r\nb"), ElementsAre("f: line 1=a", "f: line 2=b"));
  EXPECT_THAT(lines("\n\nc"), ElementsAre("f: line 1=", "f: line 2=", "f: line 3=c"));
  EXPECT_THAT(lines(""), ElementsAre());
}

size_t together(const std::vector<size_t>& lengths, int64_t batch, int64_t short_context = 0) {
  std::vector<Tokens> texts;
  for (const size_t length : lengths) texts.emplace_back(length);
  return texts_together(texts, batch, short_context);
}

TEST(TextsTogether, AreAsManyAsFitTheBatch) {
  EXPECT_EQ(together({10, 20, 30, 40}, 60), 3u);
  EXPECT_EQ(together({10, 20, 30, 40}, 59), 2u);
  EXPECT_EQ(together({10, 20, 30, 40}, 1000), 4u);
  EXPECT_EQ(together(std::vector<size_t>(1000, 1), 2048), 256u);
}

TEST(TextsTogether, ALongOneIsReadAlone) {
  EXPECT_EQ(together({5000, 1}, 2048), 1u);
  EXPECT_EQ(together({1, 5000, 1}, 2048), 1u);
  EXPECT_EQ(together({40000, 1}, 100000), 1u);
}

TEST(TextsTogether, TakeModerateCache) {
  EXPECT_EQ(together({4096, 1, 1, 1, 1, 1}, 100000), 4u);  // 4 x 4096 = 16384
}

TEST(TextsTogether, AreAllShortOrAllLongWhereThatMakesADifference) {
  EXPECT_EQ(together({32, 8, 33, 8}, 2048, 32), 2u);
  EXPECT_EQ(together({33, 64, 32}, 2048, 32), 2u);
  EXPECT_EQ(together({32, 8, 33, 8}, 2048, 0), 4u);
}

using Embeddings = std::vector<std::vector<float>>;

Embeddings embed(const Model& model, const std::vector<Tokens>& texts, const EmbedOptions& options,
                 RowCounts* rows = nullptr) {
  Embeddings all;
  const RowCounts counts = embed_texts(model, texts, options, [&](size_t index, std::vector<float> embedding) {
    EXPECT_EQ(index, all.size());
    all.push_back(std::move(embedding));
  });
  if (rows) *rows = counts;
  return all;
}

// A golden model's prompts and beginnings of them: short texts beside long ones.
class GoldenEmbedding : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const golden::Prompt& prompt : golden::load(GetParam()).prompts)
      for (const size_t length : {prompt.tokens.size(), size_t{1}, size_t{7}, size_t{7}})
        texts_.push_back(golden::slice(prompt.tokens, 0, length));
  }
  std::string file() const { return golden::path(GetParam() + ".gguf"); }

  std::vector<Tokens> texts_;
};

TEST_P(GoldenEmbedding, OfTheLastRowIsEqualToTheBitWhetherAllRowsAreComputedOrNot) {
  for (const bool exact : {true, false}) {
    Engine engine({.threads = 1, .isa = "", .exact = exact, .log = {}});
    const Model model = Model::open(engine, file());
    RowCounts sparing, everything;
    const Embeddings some = embed(model, texts_, {.session = {.micro_batch = 16}}, &sparing);
    const Embeddings all = embed(model, texts_, {.session = {.micro_batch = 16, .every_row = true}}, &everything);
    EXPECT_EQ(some, all) << (exact ? "exact" : "default");
    EXPECT_GT(sparing.skipped, 0);
    EXPECT_EQ(everything.skipped, 0);
    EXPECT_EQ(sparing.computed + sparing.skipped, everything.computed);
  }
}

TEST_P(GoldenEmbedding, OfTheMeanIsThatOfTheHiddenRowsOfEachTextAlone) {
  Engine engine({.threads = 1, .isa = "", .exact = true, .log = {}});
  const Model model = Model::open(engine, file());
  const Embeddings means = embed(model, texts_, {.pooling = Pooling::kMean, .normalize = false});
  ASSERT_EQ(means.size(), texts_.size());
  for (size_t t = 0; t < texts_.size(); ++t) {
    Session session(model, {.context = 256});
    std::vector<double> sum(means[t].size());
    const RunRequest run{session.create(), texts_[t], Want::kNothing, Want::kAll};
    session.evaluate({&run, 1}, [&](const ResultRow& row) {
      ASSERT_EQ(row.hidden.size(), sum.size());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += row.hidden[i];
    });
    for (size_t i = 0; i < sum.size(); ++i)
      EXPECT_NEAR(means[t][i], sum[i] / static_cast<double>(texts_[t].size()), 1e-5) << "text " << t << ", " << i;
  }
}

TEST_P(GoldenEmbedding, OfEqualTextsIsEqual) {
  Engine engine({.threads = 1, .isa = "", .exact = false, .log = {}});
  const Model model = Model::open(engine, file());
  const Embeddings embeddings = embed(model, texts_, {});
  EXPECT_NEAR(cosine(embeddings[2], embeddings[3]), 1, 1e-6);
  EXPECT_LT(cosine(embeddings[0], embeddings[2]), 0.9999);
}

// LongRoPE: a long neighbour does not make a short text's keys turn by the factors for long texts.
TEST(Embedding, OfATextIsThatWhichItHasAlone) {
  Engine engine({.threads = 1, .isa = "", .exact = false, .log = {}});
  const Model model = Model::open(engine, golden::path("phi3_long.gguf"));
  const Tokens text = golden::load("phi3_long").prompts[0].tokens;
  const auto border = static_cast<size_t>(model.info().short_context);
  ASSERT_GT(border, 7);
  ASSERT_LT(border, text.size());
  const std::vector<Tokens> texts = {golden::slice(text, 0, border), text, golden::slice(text, 0, 7), text,
                                     golden::slice(text, 0, border + 1)};
  const Embeddings together = embed(model, texts, {});
  for (size_t t = 0; t < texts.size(); ++t) EXPECT_EQ(together[t], embed(model, {texts[t]}, {})[0]) << "text " << t;
}

// An encoder reads a text at once: a micro-batch grows to what the longest text takes.
TEST(Encoder, TheVectorOfATextIsTheMeanOfItsReferenceRows) {
  const golden::Encoder golden = golden::load_encoder("bert_tiny");
  Engine engine({.threads = 1, .isa = "", .exact = true, .log = {}});
  const Model model = Model::open(engine, golden.file());
  std::vector<Tokens> texts;
  for (const golden::EncodedText& text : golden.texts)
    if (text.second == 0) texts.push_back(text.tokens);
  ASSERT_EQ(texts.size(), 2);
  const Embeddings means =
      embed(model, texts, {.pooling = Pooling::kMean, .normalize = false, .session = {.batch = 8, .micro_batch = 8}});
  const Embeddings firsts = embed(model, texts, {.pooling = Pooling::kCls, .normalize = false});
  for (size_t t = 0; t < texts.size(); ++t) {
    const golden::Rows& rows = golden.texts[t].rows;
    for (size_t i = 0; i < rows[0].size(); ++i) {
      double sum = 0;
      for (const std::vector<float>& row : rows) sum += row[i];
      EXPECT_NEAR(means[t][i], sum / static_cast<double>(rows.size()), 1e-5) << "text " << t << ", " << i;
      EXPECT_NEAR(firsts[t][i], rows[0][i], 2e-5) << "text " << t << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GoldenEmbedding,
                         testing::Values("llama_tied", "mistral_window", "qwen3_tiny", "gemma4_ple"));

}  // namespace
}  // namespace ingle::app
