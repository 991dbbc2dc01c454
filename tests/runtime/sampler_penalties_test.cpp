// The steps that look at the context: penalties and DRY; and the logit bias.
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "runtime/random.h"
#include "tests/runtime/sampler_test_util.h"

namespace ingle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<float> kLogits = {2, -1, 0.5f};

// 2 / 2, -1 * 2, and the token that was not seen stays.
TEST(Penalties, RepetitionDividesPositiveAndMultipliesNegativeLogits) {
  Sampler s = sampler(3, [](SamplerOptions& o) { o.repetition_penalty = 2; }, {0, 1});
  expect_equal(s.distribution(kLogits), softmax({1, -2, 0.5}));
}

// 2 - 2 * 0.5 - 0.25, -1 - 1 * 0.5 - 0.25, 0.5.
TEST(Penalties, FrequencyCountsAndPresenceDoesNot) {
  Sampler s = sampler(3, [](SamplerOptions& o) { o.frequency_penalty = 0.5f, o.presence_penalty = 0.25f; }, {0, 1, 0});
  expect_equal(s.distribution(kLogits), softmax({0.75, -1.75, 0.5}));
}

// (2 / 2) - 1 * 0.5.
TEST(Penalties, RepetitionComesBeforeTheOthers) {
  Sampler s = sampler(3, [](SamplerOptions& o) { o.repetition_penalty = 2, o.frequency_penalty = 0.5f; }, {0});
  expect_equal(s.distribution(kLogits), softmax({0.5, -1, 0.5}));
}

TEST(Penalties, NegativeOnesFavourWhatWasSeen) {
  Sampler s = sampler(3, [](SamplerOptions& o) { o.presence_penalty = -1; }, {2});
  expect_equal(s.distribution(kLogits), softmax({2, -1, 1.5}));
}

// Window 2 over 0, 0, 1, 2: 1 and 2 are in it. Then 1 again: 2 and 1 are.
TEST(Penalties, LookBackNoFurtherThanTheWindow) {
  Sampler s = sampler(3, [](SamplerOptions& o) { o.penalty_last_n = 2, o.frequency_penalty = 1; }, {0, 0, 1, 2});
  expect_equal(s.distribution(kLogits), softmax({2, -2, -0.5}));
  s.accept(1);
  expect_equal(s.distribution(kLogits), softmax({2, -2, -0.5}));
  s.accept(1);
  expect_equal(s.distribution(kLogits), softmax({2, -3, 0.5}));
}

TEST(Penalties, MinusOneIsTheWholeContextAndZeroIsOff) {
  const auto after_100_zeros = [](int32_t window) {
    Sampler s = sampler(
        3, [&](SamplerOptions& o) { o.penalty_last_n = window, o.frequency_penalty = 0.01f; },
        std::vector<TokenId>(100, 0));
    return s.distribution(kLogits);
  };
  expect_equal(after_100_zeros(-1), softmax({1, -1, 0.5}));
  expect_equal(after_100_zeros(64), softmax({2 - 0.64, -1, 0.5}));
  expect_equal(after_100_zeros(0), softmax({2, -1, 0.5}));
}

TEST(Penalties, ABannedTokenStaysBannedAndAnyOtherStaysPossible) {
  Sampler s =
      sampler(3, [](SamplerOptions& o) { o.presence_penalty = -3e38f, o.repetition_penalty = 1e30f; }, {0, 1, 2});
  const Distribution d = s.distribution(std::vector<float>{-kInfinity, -3e38f, -kInfinity});
  expect_equal(d, {{1, 1.0f}});
}

// Temperature 2 makes {2, 0} into {1, 0}; then 1 - 1 = 0: even.
TEST(Penalties, AfterTheTemperatureTheyActOnDividedLogits) {
  for (const int32_t top_k : {0, 3}) {  // on the row of logits, and on a list
    Sampler s = sampler(3,
                        [&](SamplerOptions& o) {
                          o.order = {"top_k", "temperature", "penalties"}, o.top_k = top_k;
                          o.temperature = 2, o.presence_penalty = 1;
                        },
                        {0});
    expect_equal(s.distribution(std::vector<float>{2, 0, -kInfinity}), {{0, 0.5f}, {1, 0.5f}});
  }
}

// Top-2 of {3, 2, 1, 0} is {3, 2}; the penalty then puts the first last, but does not bring back the third.
TEST(Penalties, AfterAFilterTheyReorderWhatIsLeft) {
  Sampler s = sampler(4,
                      [](SamplerOptions& o) {
                        o.order = {"top_k", "penalties"}, o.top_k = 2, o.presence_penalty = 5;
                      },
                      {0});
  expect_equal(s.distribution(std::vector<float>{3, 2, 1, 0}),
               {{1, static_cast<float>(1 / (1 + std::exp(-4)))}, {0, static_cast<float>(1 / (1 + std::exp(4)))}});
}

TEST(LogitBias, IsAddedAndMinusInfinityBans) {
  Sampler s = sampler(3, [](SamplerOptions& o) { o.logit_bias = {{1, 2.5f}, {0, -kInfinity}, {1, 0.5f}}; });
  expect_equal(s.distribution(kLogits), {{1, static_cast<float>(1 / (1 + std::exp(-1.5)))},
                                         {2, static_cast<float>(1 / (1 + std::exp(1.5)))}});  // {-, 2, 0.5}
}

// (-1 + 3) / 2 = 1, where the penalty first would have made -1 * 2 + 3 = 1 too, so use 2 and -1.5: (2 - 1.5) / 2 =
// 0.25.
TEST(LogitBias, ComesBeforeThePenalties) {
  Sampler s = sampler(3, [](SamplerOptions& o) { o.logit_bias = {{0, -1.5f}}, o.repetition_penalty = 2; }, {0});
  expect_equal(s.distribution(kLogits), softmax({0.25, -1, 0.5}));
}

SamplerOptions& dry(SamplerOptions& o) {
  o.dry_multiplier = 1, o.dry_base = 2, o.dry_allowed_length = 2;
  return o;
}

// 1 2 3 4 . 1 2 3: a 4 would lengthen a repetition of 3 tokens: 1 * 2^(3 - 2) = 2.
TEST(Dry, PenalizesTheTokenThatWouldGoOnWithARepetition) {
  const std::vector<float> flat(8, 0.0f);
  Sampler s = sampler(8, [](SamplerOptions& o) { dry(o); }, {1, 2, 3, 4, 7, 1, 2, 3});
  expect_equal(s.distribution(flat), softmax({0, 0, 0, 0, -2, 0, 0, 0}));
}

TEST(Dry, LetsShortRepetitionsBe) {
  const auto penalty = [](int32_t allowed) {
    Sampler s = sampler(5, [&](SamplerOptions& o) { dry(o).dry_allowed_length = allowed; }, {1, 2, 3, 4, 1, 2, 3});
    const Distribution d = s.distribution(std::vector<float>(5, 0.0f));
    return std::log(d[0].second / d[4].second);
  };
  EXPECT_NEAR(penalty(2), 2, 1e-5);  // 2^(3 - 2)
  EXPECT_NEAR(penalty(3), 1, 1e-5);  // 2^0
  EXPECT_NEAR(penalty(4), 0, 1e-5);
}

// 5 after 1 2, and again 6 after 9 1 2: the context ends in 9 1 2, so lengths 2 and 3.
TEST(Dry, CountsTheLongestRepetitionForEachToken) {
  Sampler s = sampler(10, [](SamplerOptions& o) { dry(o); }, {8, 1, 2, 5, 9, 1, 2, 6, 8, 1, 2, 6, 9, 1, 2});
  expect_equal(s.distribution(std::vector<float>(10, 0.0f)), softmax({0, 0, 0, 0, 0, -1, -2, 0, 0, 0}));
}

TEST(Dry, ARepetitionMayOverlapItself) {
  Sampler s = sampler(2, [](SamplerOptions& o) { dry(o); }, {1, 1, 1, 1});  // 1 1 1 twice, shifted by one
  expect_equal(s.distribution(std::vector<float>{0, 0}), softmax({0, -2}));
}

// With 2 a breaker, only the 3 after it counts: length 1, 2^(1 - 1) = 1 when 1 is allowed, nothing when 2 are.
TEST(Dry, ABreakerEndsTheRepetition) {
  const auto with = [](int32_t allowed, std::vector<TokenId> context) {
    return sampler(5, [&](SamplerOptions& o) { dry(o).dry_allowed_length = allowed; }, context, {2})
        .distribution(std::vector<float>(5, 0.0f));
  };
  expect_equal(with(1, {1, 2, 3, 4, 1, 2, 3}), softmax({0, 0, 0, 0, -1}));
  expect_equal(with(2, {1, 2, 3, 4, 1, 2, 3}), softmax({0, 0, 0, 0, 0}));
  expect_equal(with(1, {1, 2, 3, 1, 2}), softmax({0, 0, 0, 0, 0}));  // ends in a breaker
  expect_equal(with(1, {1, 3, 2, 1, 3}), softmax({0, 0, 0, 0, 0}));  // a breaker itself is never penalized
}

TEST(Dry, LooksBackNoFurtherThanItsWindow) {
  const auto with = [](int32_t window) {
    return sampler(5, [&](SamplerOptions& o) { dry(o).dry_penalty_last_n = window; }, {1, 2, 3, 4, 1, 2, 3})
        .distribution(std::vector<float>(5, 0.0f));
  };
  expect_equal(with(7), softmax({0, 0, 0, 0, -2}));
  expect_equal(with(6), softmax({0, 0, 0, 0, -1}));  // only 2 3 is seen twice
  expect_equal(with(4), softmax({0, 0, 0, 0, 0}));
  expect_equal(with(0), softmax({0, 0, 0, 0, 0}));
}

TEST(Dry, ALongRepetitionStaysFinite) {
  Sampler s = sampler(
      2, [](SamplerOptions& o) { dry(o); }, std::vector<TokenId>(3000, 1));  // 2^2997
  expect_equal(s.distribution(std::vector<float>{0, 0}), {{0, 1.0f}, {1, 0.0f}});
  expect_equal(s.distribution(std::vector<float>{-kInfinity, 0}), {{1, 1.0f}});
}

// The definition, word for word and quadratic.
std::map<TokenId, size_t> repetitions(std::vector<TokenId> context, size_t window, TokenId breaker) {
  if (context.size() > window) context.erase(context.begin(), context.end() - static_cast<std::ptrdiff_t>(window));
  std::map<TokenId, size_t> longest;
  for (size_t cut = 1; cut < context.size(); ++cut) {  // context[cut] came after context[0, cut)
    size_t length = 0;
    while (length < cut && context[cut - 1 - length] == context[context.size() - 1 - length] &&
           context[cut - 1 - length] != breaker)
      ++length;
    if (length > 0 && context[cut] != breaker) longest[context[cut]] = std::max(longest[context[cut]], length);
  }
  return longest;
}

TEST(Dry, AgreesWithItsDefinitionOnRandomContexts) {
  constexpr size_t kVocab = 4;
  Random random(9);
  for (int round = 0; round < 200; ++round) {
    const size_t window = 5 + random.next() % 60;
    Sampler s = sampler(kVocab,
                        [&](SamplerOptions& o) {
                          o.dry_multiplier = 0.5f, o.dry_base = 1.25f, o.dry_allowed_length = 1;
                          o.dry_penalty_last_n = static_cast<int32_t>(window);
                        },
                        {}, {3});
    std::vector<TokenId> context;
    for (int i = 0; i < 250; ++i) {  // mostly 0 and 1, so that repetitions are long; seldom the breaker
      const uint64_t r = random.next() % 40;
      context.push_back(r == 0 ? 3 : r < 3 ? 2 : static_cast<TokenId>(r % 2));
      s.accept(context.back());
      if (i % 25 != 24) continue;
      std::vector<double> wanted(kVocab, 0.0);
      for (const auto& [token, length] : repetitions(context, window, 3))
        wanted[static_cast<size_t>(token)] = -0.5 * std::pow(1.25, static_cast<double>(length) - 1);
      std::map<TokenId, float> got;
      for (const auto& [id, p] : s.distribution(std::vector<float>(kVocab, 0.0f))) got[id] = p;
      for (const auto& [id, p] : softmax(wanted))
        ASSERT_NEAR(got[id], p, 1e-5) << "round " << round << ", token " << id;
    }
  }
}

}  // namespace
}  // namespace ingle
