// Each step that removes candidates, on distributions small enough to work out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "runtime/random.h"
#include "tests/runtime/sampler_test_util.h"

namespace ingle {
namespace {

const std::vector<float> kFalling = logits_of({0.4, 0.3, 0.2, 0.1});
const std::vector<float> kHalving = logits_of({0.5, 0.25, 0.125, 0.125});
const std::vector<float> kEqual = {1, 1, 1, 1};

TEST(TopK, KeepsTheMostLikelyAndSharesTheRestAmongThem) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.top_k = 2; });
  expect_equal(s.distribution(kFalling), {{0, 0.4f / 0.7f}, {1, 0.3f / 0.7f}});
}

TEST(TopK, AmongEqualsTheLowestIdsStay) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.top_k = 3; });
  expect_equal(s.distribution(kEqual), {{0, 1 / 3.f}, {1, 1 / 3.f}, {2, 1 / 3.f}});
}

TEST(TopK, MoreThanTheVocabularyKeepsEverything) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.top_k = 1000; });
  EXPECT_EQ(ids(s.distribution(kFalling)), (std::vector<TokenId>{0, 1, 2, 3}));
}

// The one-pass selection against a full sort, with many ties, some tokens banned, rising, falling and shuffled logits.
TEST(TopK, SelectsWhatAFullSortWould) {
  constexpr int32_t kVocab = 5000;
  Random random(3);
  std::vector<float> logits(kVocab);
  for (const int shape : {0, 1, 2}) {
    for (int32_t i = 0; i < kVocab; ++i) {
      const auto noise = static_cast<float>(random.next() % 400);
      logits[static_cast<size_t>(i)] = shape == 0 ? noise : shape == 1 ? 0.01f * i : -0.01f * i;
      if (random.next() % 10 == 0) logits[static_cast<size_t>(i)] = -std::numeric_limits<float>::infinity();
    }
    std::vector<TokenId> order;
    for (int32_t i = 0; i < kVocab; ++i)
      if (std::isfinite(logits[static_cast<size_t>(i)])) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    for (const int32_t k : {1, 2, 40, 63, 64, 65, 1000, 4400, 4999}) {
      Sampler s = sampler(kVocab, [&](SamplerOptions& o) { o.top_k = k; });
      std::vector<TokenId> wanted = order;
      wanted.resize(std::min(wanted.size(), static_cast<size_t>(k)));
      EXPECT_EQ(ids(s.distribution(logits)), wanted) << "k " << k << ", shape " << shape;
    }
  }
}

// 0.4 + 0.3 = 0.7: enough for 0.65, not for 0.75.
TEST(TopP, KeepsTheSmallestPrefixThatReachesP) {
  expect_equal(sampler(4, [](SamplerOptions& o) { o.top_p = 0.65f; }).distribution(kFalling),
               {{0, 0.4f / 0.7f}, {1, 0.3f / 0.7f}});
  expect_equal(sampler(4, [](SamplerOptions& o) { o.top_p = 0.75f; }).distribution(kFalling),
               {{0, 0.4f / 0.9f}, {1, 0.3f / 0.9f}, {2, 0.2f / 0.9f}});
}

// Four of exactly 1/4: two reach 0.5 exactly, and that is enough.
TEST(TopP, ReachingPExactlyIsEnough) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.top_p = 0.5f; });
  expect_equal(s.distribution(kEqual), {{0, 0.5f}, {1, 0.5f}});
}

TEST(TopP, ZeroKeepsTheMostLikely) {
  expect_equal(sampler(4, [](SamplerOptions& o) { o.top_p = 0; }).distribution(kFalling), {{0, 1.0f}});
}

// 1000 equal tokens: 0.7 of the mass is the first 700, found although sorting proceeds in pieces.
TEST(TopP, WalksAsFarAsItMust) {
  Sampler s = sampler(1000, [](SamplerOptions& o) { o.top_p = 0.69999f; });
  const Distribution d = s.distribution(std::vector<float>(1000, 2.0f));
  ASSERT_EQ(d.size(), 700u);
  EXPECT_EQ(d.back().first, 699);
}

// It sees what top-k left: 0.4 / 0.7 = 0.571 reaches 0.55 alone.
TEST(TopP, CountsOnlyTheCandidatesThatAreLeft) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.top_k = 2, o.top_p = 0.55f; });
  expect_equal(s.distribution(kFalling), {{0, 1.0f}});
}

// 0.45 * 0.4 = 0.18: keeps 0.2, drops 0.1.
TEST(MinP, IsRelativeToTheMostLikely) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.min_p = 0.45f; });
  expect_equal(s.distribution(kFalling), {{0, 0.4f / 0.9f}, {1, 0.3f / 0.9f}, {2, 0.2f / 0.9f}});
}

TEST(MinP, OneKeepsThoseAsLikelyAsTheMostLikely) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.min_p = 1; });
  expect_equal(s.distribution(std::vector<float>{2, 5, 5, 4}), {{1, 0.5f}, {2, 0.5f}});
}

// Surprises 1, 2, 3, 3 bits; entropy 0.5 * 1 + 0.25 * 2 + 2 * 0.125 * 3 = 1.75 bits. Distances 0.75, 0.25, 1.25, 1.25:
// the most typical token is 1, then 0, then 2, then 3.
TEST(Typical, KeepsTheTokensWhoseSurpriseIsClosestToTheEntropy) {
  const auto left = [](float p) {
    return sampler(4, [p](SamplerOptions& o) { o.typical_p = p; }).distribution(kHalving);
  };
  expect_equal(left(0.2f), {{1, 1.0f}});  // the most likely token is not typical enough
  expect_equal(left(0.5f), {{0, 2 / 3.f}, {1, 1 / 3.f}});
  expect_equal(left(0.8f), {{0, 0.5f / 0.875f}, {1, 0.25f / 0.875f}, {2, 0.125f / 0.875f}});
  expect_equal(left(0.9f), {{0, 0.5f}, {1, 0.25f}, {2, 0.125f}, {3, 0.125f}});
}

TEST(Typical, OfEqualsKeepsTheLowestIds) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.typical_p = 0.6f; });
  EXPECT_EQ(ids(s.distribution(kEqual)), (std::vector<TokenId>{0, 1, 2}));
}

// Four of exactly 1/4, all at distance 0: two reach 0.5 exactly.
TEST(Typical, ReachingPExactlyIsEnough) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.typical_p = 0.5f; });
  expect_equal(s.distribution(kEqual), {{0, 0.5f}, {1, 0.5f}});
}

TEST(Typical, ImpossibleTokensDoNotSpoilTheEntropy) {
  std::vector<float> logits = kHalving;
  logits.push_back(-std::numeric_limits<float>::infinity());
  logits.push_back(-std::numeric_limits<float>::max());  // a candidate, of probability 0
  Sampler s = sampler(6, [](SamplerOptions& o) { o.typical_p = 0.5f; });
  expect_equal(s.distribution(logits), {{0, 2 / 3.f}, {1, 1 / 3.f}});
}

// Top choices at 0.15: tokens 0, 1, 2. The least likely of them, 2, is spared, and what lies below stays.
TEST(Xtc, RemovesAllTopChoicesButTheLast) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.xtc_probability = 1, o.xtc_threshold = 0.15f; });
  expect_equal(s.distribution(kFalling), {{2, 2 / 3.f}, {3, 1 / 3.f}});
}

TEST(Xtc, ASingleTopChoiceStays) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.xtc_probability = 1, o.xtc_threshold = 0.35f; });
  expect_equal(s.distribution(kFalling), {{0, 0.4f}, {1, 0.3f}, {2, 0.2f}, {3, 0.1f}});
}

TEST(Xtc, TheThresholdItselfIsATopChoice) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.xtc_probability = 1, o.xtc_threshold = 0.25f; });
  expect_equal(s.distribution(kEqual), {{3, 1.0f}});  // four of exactly 0.25; of equals the highest id is the last
}

TEST(Xtc, LeavesTheCandidatesAloneWhenTooFewWouldBeLeft) {
  const auto left = [](int32_t min_keep) {
    return sampler(4, [&](SamplerOptions& o) { o.xtc_probability = 1, o.xtc_threshold = 0.15f, o.min_keep = min_keep; })
        .distribution(kFalling);
  };
  EXPECT_EQ(ids(left(2)), (std::vector<TokenId>{2, 3}));
  EXPECT_EQ(ids(left(3)), (std::vector<TokenId>{0, 1, 2, 3}));
}

// Token 0 is drawn only when the coin says no: 0.5 * 0.4 = 0.2 of the time. 20000 draws, standard deviation 0.0028.
TEST(Xtc, HappensWithItsProbability) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.xtc_probability = 0.5f, o.xtc_threshold = 0.15f; });
  int zeros = 0;
  for (int i = 0; i < 20000; ++i) zeros += s.sample(kFalling) == 0;
  EXPECT_NEAR(zeros / 20000.0, 0.2, 4 * 0.0028);
}

TEST(Xtc, TheDistributionShownIsTheOneTheNextDrawUses) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.xtc_probability = 0.5f, o.xtc_threshold = 0.15f; });
  size_t shapes[5] = {};
  for (int i = 0; i < 200; ++i) {
    const std::vector<TokenId> possible = ids(s.distribution(kFalling));
    ++shapes[possible.size()];
    EXPECT_NE(std::find(possible.begin(), possible.end(), s.sample(kFalling)), possible.end());
  }
  EXPECT_GT(shapes[2], 60u);
  EXPECT_GT(shapes[4], 60u);
}

// p^(1 / 0.5) = p^2: 0.16, 0.09, 0.04, 0.01, together 0.3.
TEST(Temperature, IsAnExponentOnTheProbabilities) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.temperature = 0.5f; });
  expect_equal(s.distribution(kFalling), {{0, 16 / 30.f}, {1, 9 / 30.f}, {2, 4 / 30.f}, {3, 1 / 30.f}});
}

TEST(Temperature, ExtremesAreGreedyAndUniform) {
  Sampler cold = sampler(4, [](SamplerOptions& o) { o.temperature = 1e-30f; });
  EXPECT_FLOAT_EQ(cold.distribution(kFalling)[0].second, 1);
  Sampler hot = sampler(4, [](SamplerOptions& o) { o.temperature = 1e30f; });
  for (const auto& [id, p] : hot.distribution(kFalling)) EXPECT_FLOAT_EQ(p, 0.25f);
}

TEST(MinKeep, EveryFilterLeavesAtLeastThatMany) {
  const auto left = [](auto change) {
    return ids(sampler(4, [&](SamplerOptions& o) { o.min_keep = 3, change(o); }).distribution(kFalling));
  };
  const std::vector<TokenId> three = {0, 1, 2};
  EXPECT_EQ(left([](SamplerOptions& o) { o.top_k = 1; }), three);
  EXPECT_EQ(left([](SamplerOptions& o) { o.top_p = 0.1f; }), three);
  EXPECT_EQ(left([](SamplerOptions& o) { o.min_p = 1; }), three);
  // Surprises 1.32, 1.74, 2.32, 3.32 bits, entropy 1.85: by distance 1, 2, 0, 3.
  EXPECT_EQ(left([](SamplerOptions& o) { o.typical_p = 0.1f; }), three);
  EXPECT_EQ(left([](SamplerOptions& o) { o.mirostat = 2, o.mirostat_tau = 0; }), three);
}

TEST(MinKeep, MoreThanTheVocabularyIsTheVocabulary) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.min_keep = 9, o.top_k = 1, o.top_p = 0, o.min_p = 1; });
  EXPECT_EQ(s.distribution(kFalling).size(), 4u);
}

// min_p 0.3. At temperature 1 the bar is 0.3 * 0.4 = 0.12: three stay. At 0.5 the probabilities are 16, 9, 4, 1 of 30
// and the bar 4.8 of 30: two stay.
TEST(Order, ATemperatureBeforeMinPChangesWhatItKeeps) {
  const auto left = [](std::vector<std::string> order) {
    Sampler s = sampler(4, [&](SamplerOptions& o) { o.order = order, o.min_p = 0.3f, o.temperature = 0.5f; });
    return ids(s.distribution(kFalling));
  };
  EXPECT_EQ(left({"min_p", "temperature"}), (std::vector<TokenId>{0, 1, 2}));
  EXPECT_EQ(left({"temperature", "min_p"}), (std::vector<TokenId>{0, 1}));
}

TEST(Order, AStepThatIsNotInItDoesNotRun) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.order = {}, o.top_k = 1, o.temperature = 0.5f; });
  expect_equal(s.distribution(kFalling), {{0, 0.4f}, {1, 0.3f}, {2, 0.2f}, {3, 0.1f}});
}

// A top-k of the whole vocabulary removes nothing, but makes a sorted list of what was a row of logits. What comes
// after it must do the same on both.
TEST(Order, AFilterDoesTheSameOnAListAndOnTheWholeRow) {
  std::vector<float> logits(300);
  Random random(5);
  for (float& x : logits) x = static_cast<float>(4 * random.uniform());
  const auto left = [&](std::vector<std::string> order) {
    Sampler s = sampler(300, [&](SamplerOptions& o) {
      o.order = order, o.top_k = 300, o.top_p = 0.8f, o.min_p = 0.3f, o.typical_p = 0.7f;
      o.xtc_probability = 1, o.xtc_threshold = 0.005f, o.temperature = 0.7f;
      o.repetition_penalty = 1.5f, o.frequency_penalty = 0.25f;
    });
    for (int i = 0; i < 64; ++i) s.accept(i / 2);
    return s.distribution(logits);
  };
  for (const char* step : {"top_p", "min_p", "typical", "xtc", "temperature", "penalties"}) {
    SCOPED_TRACE(step);
    const Distribution whole = left({step});
    EXPECT_LT(whole.size(), std::string(step) == "temperature" || std::string(step) == "penalties" ? 301u : 300u);
    expect_equal(left({"top_k", step}), whole);
  }
}

}  // namespace
}  // namespace ingle
