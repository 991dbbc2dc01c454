// Log-probabilities of tokens: the arithmetic by hand, and golden models against the log softmax of their committed
// logits.
#include <gtest/gtest.h>

#include <cmath>

#include "apps/ingle/score/token_scores.h"
#include "tests/models/golden.h"

namespace ingle::app {
namespace {

const float kLog2 = std::log(2.0f);

TEST(ScoreToken, IsTheLogSoftmax) {
  // Weights 1, 2, 1: probabilities 1/4, 1/2, 1/4.
  const std::vector<float> logits = {0, kLog2, 0};
  EXPECT_NEAR(score_token(logits, 1).log_probability, std::log(0.5), 1e-7);
  EXPECT_NEAR(score_token(logits, 2).log_probability, std::log(0.25), 1e-7);
}

TEST(ScoreToken, SurvivesLargeLogits) {
  const std::vector<float> logits = {10000, 10000, -10000};
  EXPECT_NEAR(score_token(logits, 0).log_probability, std::log(0.5), 1e-12);
  EXPECT_NEAR(score_token(logits, 2).log_probability, -20000 + std::log(0.5), 1e-9);
}

TEST(ScoreToken, KeepsMoreDigitsThanAFloat) {
  // log(1 + e^-12) = 6.144e-6 would be lost beside 1 in a float to within 2 %.
  const std::vector<float> logits = {0, -12};
  EXPECT_NEAR(score_token(logits, 0).log_probability, -std::log1p(std::exp(-12.0)), 1e-15);
}

TEST(ScoreToken, RanksByHowManyAreLikelier) {
  const std::vector<float> logits = {1, 4, 3, 4};
  EXPECT_EQ(score_token(logits, 1).rank, 1);
  EXPECT_EQ(score_token(logits, 3).rank, 1);
  EXPECT_EQ(score_token(logits, 2).rank, 3);
  EXPECT_EQ(score_token(logits, 0).rank, 4);
}

TEST(ScoreToken, ListsTheLikeliestEqualOnesById) {
  const std::vector<float> logits = {1, 4, 3, 4};
  const TokenScore score = score_token(logits, 0, 3);
  ASSERT_EQ(score.top.size(), 3u);
  EXPECT_EQ(score.top[0].token, 1);
  EXPECT_EQ(score.top[1].token, 3);
  EXPECT_EQ(score.top[2].token, 2);
  EXPECT_DOUBLE_EQ(score.top[0].log_probability, score_token(logits, 1).log_probability);
  EXPECT_EQ(score_token(logits, 0, 100).top.size(), 4u);
  EXPECT_TRUE(score_token(logits, 0).top.empty());
}

TEST(ScoreToken, BrokenLogitsGiveNoNumberAndStillAnOrder) {
  const std::vector<float> logits = {NAN, 1, NAN, 2};
  const TokenScore score = score_token(logits, 1, 4);
  EXPECT_TRUE(std::isnan(score.log_probability));
  ASSERT_EQ(score.top.size(), 4u);
  EXPECT_EQ(score.top[0].token, 3);
  EXPECT_EQ(score.top[1].token, 1);
}

class GoldenScore : public testing::TestWithParam<std::string> {};

TEST_P(GoldenScore, IsTheLogSoftmaxOfTheReferenceLogits) {
  const golden::Golden golden = golden::load(GetParam());
  Engine engine({.threads = 1, .isa = "", .exact = true, .log = {}});
  const Model model = Model::open(engine, golden.file());
  for (const golden::Prompt& prompt : golden.prompts) {
    Session session(model, {.context = 256, .micro_batch = 16});
    size_t told = 0;
    const std::vector<TokenScore> scores =
        score_tokens(session, prompt.tokens, 1, [&](size_t count) { EXPECT_EQ(count, ++told); });
    ASSERT_EQ(scores.size(), prompt.tokens.size() - 1);
    EXPECT_EQ(told, scores.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      const std::vector<float>& logits = prompt.logits[i];
      const TokenId next = prompt.tokens[i + 1];
      double sum = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      // Logits agree to 1e-5 of the largest (golden_test), and a log-probability is a difference of such.
      const auto [least, most] = std::ranges::minmax(logits);
      const double bound = 1e-5 * std::max({1.0f, -least, most});
      EXPECT_EQ(scores[i].token, next);
      EXPECT_NEAR(scores[i].log_probability, logits[static_cast<size_t>(next)] - std::log(sum), bound)
          << "token " << i + 1;
      EXPECT_NEAR(scores[i].top[0].log_probability, most - std::log(sum), bound);
    }
    EXPECT_EQ(session.rows().skipped, 0);
    EXPECT_EQ(session.rows().computed, static_cast<int64_t>(scores.size()) * model.info().layers);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GoldenScore, testing::ValuesIn(golden::names()));

}  // namespace
}  // namespace ingle::app
