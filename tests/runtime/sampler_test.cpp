// The draw itself: greedy, seeds, mirostat, what is refused, what odd logits do; and the generator and functions below
// it.
#include "runtime/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "ingle/error.h"
#include "runtime/portable_math.h"
#include "runtime/random.h"
#include "tests/runtime/sampler_test_util.h"

namespace ingle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kFalling = logits_of({0.4, 0.3, 0.2, 0.1});
constexpr auto kPlain = [](SamplerOptions&) {};

std::vector<TokenId> draw(Sampler& s, std::span<const float> logits, int count) {
  std::vector<TokenId> result;
  for (int i = 0; i < count; ++i) result.push_back(s.sample(logits));
  return result;
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.what();
  }
  return "nothing was refused";
}

// Published with the generators: SplitMix64 from 1234567, xoshiro256++ from the state {1, 2, 3, 4}.
TEST(Random, GivesThePublishedSequences) {
  SplitMix64 fill(1234567);
  EXPECT_EQ(fill.next(), 6457827717110365317u);
  EXPECT_EQ(fill.next(), 3203168211198807973u);
  EXPECT_EQ(fill.next(), 9817491932198370423u);
  Random random(std::array<uint64_t, 4>{1, 2, 3, 4});
  for (const uint64_t wanted : {41943041u, 58720359u}) EXPECT_EQ(random.next(), wanted);
  for (const uint64_t wanted : {3588806011781223u, 3591011842654386u, 9228616714210784205u, 9973669472204895162u})
    EXPECT_EQ(random.next(), wanted);
}

TEST(PortableMath, ExpAndLogAreWithinTwoUnitsInTheLastPlace) {
  Random random(1);
  for (int i = 0; i < 200000; ++i) {
    const double x = -(i % 2 == 0 ? 708 : 5) * random.uniform();
    const double e = std::exp(x);
    ASSERT_NEAR(portable_exp(x), e, 2 * (std::nextafter(e, 2) - e)) << x;
    const double y = 1 + 300000 * random.uniform() * (i % 2 == 0 ? 1 : 1e-5);
    const double l = std::log(y);
    ASSERT_NEAR(portable_log(y), l, 2 * (std::nextafter(l, 99) - l) + 1e-17) << y;
  }
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-709), 0);
  EXPECT_EQ(portable_exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_NEAR(portable_log(std::numeric_limits<float>::denorm_min()), -103.2789, 1e-4);
}

TEST(Greedy, TakesTheMostLikelyAndOfEqualsTheLowestId) {
  Sampler s = sampler(5, [](SamplerOptions& o) { o.temperature = 0; });
  EXPECT_EQ(s.sample(std::vector<float>{1, 3, 2, 3, -1}), 1);
  expect_equal(s.distribution(std::vector<float>{1, 3, 2, 3, -1}), {{1, 1.0f}});
  EXPECT_EQ(s.sample(std::vector<float>{-5, -3, -2, -kInfinity, kNaN}), 2);
}

TEST(Greedy, ComesAfterPenaltiesDryAndBias) {
  const std::vector<float> logits = {3, 2, 1};
  EXPECT_EQ(sampler(3, [](SamplerOptions& o) { o.temperature = 0, o.presence_penalty = 1.5f; }, {0}).sample(logits), 1);
  EXPECT_EQ(sampler(3, [](SamplerOptions& o) { o.temperature = 0, o.logit_bias = {{2, 2.5f}}; }).sample(logits), 2);
  EXPECT_EQ(
      sampler(3, [](SamplerOptions& o) { o.temperature = 0, o.dry_multiplier = 1.5f; }, {0, 1, 0, 0, 1}).sample(logits),
      1);  // 0 after 0 1 would be a repetition of length 2
}

TEST(Greedy, LeavesFiltersAndMirostatAside) {
  Sampler s = sampler(4, [](SamplerOptions& o) {
    o.temperature = 0, o.xtc_probability = 1, o.xtc_threshold = 0.01f, o.typical_p = 0.1f, o.mirostat = 2;
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(s.sample(kFalling), 0);
}

// Worked out apart from this code, by a Python program: xoshiro256++ seeded by SplitMix64, (next >> 11) / 2^53, and the
// first token whose cumulative probability of {0.4, 0.3, 0.2, 0.1} exceeds it.
TEST(Seed, GivesTheSameTokensForEver) {
  const auto tokens = [](uint64_t seed) {
    Sampler s = sampler(4, [&](SamplerOptions& o) { o.seed = seed; });
    return draw(s, kFalling, 24);
  };
  EXPECT_EQ(tokens(0), (std::vector<TokenId>{0, 0, 0, 0, 1, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(tokens(42), (std::vector<TokenId>{2, 0, 3, 2, 2, 1, 0, 1, 0, 3, 1, 2, 1, 0, 1, 1, 0, 0, 1, 1, 0, 2, 1, 1}));
  EXPECT_EQ(tokens(~0ull),
            (std::vector<TokenId>{0, 3, 2, 0, 1, 1, 2, 1, 1, 2, 0, 1, 3, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1, 2}));
}

// Worked out by such a program too, step by step. A change here changes the text that users get for a seed.
TEST(Seed, TheDefaultChainGivesTheSameTokensForEver) {
  Random random(1);
  std::vector<float> logits(1000);
  for (float& x : logits) x = static_cast<float>(8 * random.uniform());
  SamplerOptions o;
  o.seed = 7, o.repetition_penalty = 1.1f, o.dry_multiplier = 0.8f, o.xtc_probability = 0.3f, o.xtc_threshold = 0.02f;
  Sampler s(o, 1000);
  std::vector<TokenId> got;
  for (int i = 0; i < 16; ++i) s.accept(got.emplace_back(s.sample(logits)));
  EXPECT_EQ(got, (std::vector<TokenId>{709, 27, 211, 996, 479, 560, 283, 6, 131, 883, 282, 921, 815, 340, 476, 992}));
}

TEST(Seed, ResetStartsOver) {
  Sampler s = sampler(4, [](SamplerOptions& o) {
    o.mirostat = 2, o.mirostat_tau = 1.5f, o.frequency_penalty = 0.1f, o.dry_multiplier = 0.1f, o.penalty_last_n = 5;
  });
  const auto generate = [&] {
    std::vector<TokenId> tokens;
    for (int i = 0; i < 50; ++i) s.accept(tokens.emplace_back(s.sample(kFalling)));
    return tokens;
  };
  const std::vector<TokenId> first = generate();
  EXPECT_NE(generate(), first);
  s.reset();
  EXPECT_EQ(generate(), first);
}

TEST(Seed, LookingAtTheDistributionDoesNotChangeTheDraws) {
  const auto chain = [](SamplerOptions& o) {
    o.xtc_probability = 0.5f, o.xtc_threshold = 0.15f, o.frequency_penalty = 1;
  };
  Sampler a = sampler(4, chain), b = sampler(4, chain);
  for (int i = 0; i < 50; ++i) {
    b.distribution(kFalling);
    EXPECT_EQ(a.sample(kFalling), b.sample(kFalling));
  }
}

TEST(Sampler, CanBeMoved) {
  Sampler a = sampler(4, [](SamplerOptions& o) { o.seed = 42; });
  draw(a, kFalling, 2);
  Sampler b = std::move(a);
  EXPECT_EQ(draw(b, kFalling, 3), (std::vector<TokenId>{3, 2, 2}));  // tokens 3, 4, 5 of the golden sequence
}

// Pearson's statistic of 100000 draws against distribution(), six tokens: above 20.5 once in a thousand seeds (5
// degrees of freedom). The seed is fixed, so this either always holds or never.
TEST(Draws, FollowTheDistribution) {
  const std::vector<float> logits = {1.5f, -0.5f, 2.0f, 0.3f, -1.0f, 0.9f};
  Sampler s = sampler(6, [](SamplerOptions& o) { o.temperature = 1.3f, o.seed = 2024; });
  std::vector<int> counts(6);
  for (int i = 0; i < 100000; ++i) ++counts[static_cast<size_t>(s.sample(logits))];
  double statistic = 0;
  for (const auto& [id, p] : s.distribution(logits)) {
    const double wanted = 100000.0 * p, difference = counts[static_cast<size_t>(id)] - wanted;
    statistic += difference * difference / wanted;
  }
  EXPECT_LT(statistic, 20.5);
}

TEST(Draws, NeverTakeWhatWasRemovedOrHasNoProbability) {
  Sampler s = sampler(6, [](SamplerOptions& o) { o.top_k = 3; });
  const std::vector<float> logits = {-kInfinity, 1, kNaN, 1, 1, 0.5f};
  for (int i = 0; i < 2000; ++i) {
    const TokenId token = s.sample(logits);
    EXPECT_TRUE(token == 1 || token == 3 || token == 4) << token;
  }
}

// Eight equally likely tokens: 3 bits each. tau 1, so mu starts at 2 and only the one that is always kept stays; its
// surprise is then 0, mu = 2 - 0.6 * (0 - 1) = 2.6; again 3.2: all eight; one of 3 bits: mu = 3.2 - 0.6 * (3 - 1) = 2.
TEST(Mirostat, MovesItsBarByTheErrorOfEachToken) {
  const std::vector<float> logits(8, 0.25f);
  Sampler s = sampler(8, [](SamplerOptions& o) { o.mirostat = 2, o.mirostat_tau = 1, o.mirostat_eta = 0.6f; });
  for (const size_t candidates : {1u, 1u, 8u, 1u, 1u, 8u, 1u}) {
    EXPECT_EQ(s.distribution(logits).size(), candidates);
    s.sample(logits);
  }
}

// Surprises 1, 2, 3, 3 bits; mu = 2.5 removes those of 3.
TEST(Mirostat, RemovesTokensMoreSurprisingThanTheBar) {
  Sampler s = sampler(4, [](SamplerOptions& o) { o.mirostat = 2, o.mirostat_tau = 1.25f; });
  expect_equal(s.distribution(logits_of({0.5, 0.25, 0.125, 0.125})), {{0, 2 / 3.f}, {1, 1 / 3.f}});
}

TEST(Mirostat, ReplacesTheFiltersButNotPenaltiesAndTemperature) {
  Sampler s = sampler(3,
                      [](SamplerOptions& o) {
                        o.mirostat = 2, o.mirostat_tau = 50, o.top_k = 1, o.temperature = 2, o.presence_penalty = 1;
                      },
                      {0});
  expect_equal(s.distribution(std::vector<float>{3, 2, 0}),
               {{0, 0.4223188f}, {1, 0.4223188f}, {2, 0.1553624f}});  // 1, 1, 0
}

// Zipf's law over 1000 words: far more than 3 bits a token, unless held down.
TEST(Mirostat, HoldsTheSurpriseAtItsTarget) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = -std::log(static_cast<float>(i + 1));
  Sampler s = sampler(1000, [](SamplerOptions& o) { o.mirostat = 2, o.mirostat_tau = 3; });
  double bits = 0;
  for (int i = 0; i < 3000; ++i) {
    const Distribution d = s.distribution(logits);
    const TokenId token = s.sample(logits);
    if (i < 1000) continue;
    bits -= std::log2(d[static_cast<size_t>(token)].second);  // ids are ranks here
  }
  EXPECT_NEAR(bits / 2000, 3, 0.1);
}

TEST(OddLogits, NaNIsNoCandidateAndPlusInfinityIsCertain) {
  Sampler s = sampler(4, kPlain);
  expect_equal(s.distribution(std::vector<float>{kNaN, 1, -kInfinity, 1}), {{1, 0.5f}, {3, 0.5f}});
  expect_equal(s.distribution(std::vector<float>{0, kInfinity, kInfinity, -kInfinity}),
               {{1, 0.5f}, {2, 0.5f}, {0, 0.0f}});
  EXPECT_EQ(sampler(4, [](SamplerOptions& o) { o.temperature = 0; }).sample(std::vector<float>{9, kInfinity, 1, kNaN}),
            1);
}

TEST(OddLogits, NothingToChooseFromIsSaid) {
  for (const float temperature : {0.0f, 1.0f}) {
    for (const int32_t top_k : {0, 2}) {
      Sampler s = sampler(3, [&](SamplerOptions& o) { o.temperature = temperature, o.top_k = top_k; });
      const auto message = [&](std::vector<float> logits) { return refusal([&] { s.sample(logits); }); };
      EXPECT_EQ(message({kNaN, kNaN, kNaN}), "logits are not numbers: 3 of 3 are NaN and the rest -infinity");
      EXPECT_EQ(message({kNaN, -kInfinity, -kInfinity}),
                "logits are not numbers: 1 of 3 are NaN and the rest -infinity");
      EXPECT_EQ(message({-kInfinity, -kInfinity, -kInfinity}),
                "no token left to choose from: all 3 logits are -infinity");
      EXPECT_EQ(s.sample(std::vector<float>{-kInfinity, 1, -kInfinity}), 1);  // and it is usable afterwards
    }
  }
}

TEST(OddLogits, EveryTokenBannedByBiasIsSaid) {
  Sampler s = sampler(2, [](SamplerOptions& o) { o.logit_bias = {{0, -kInfinity}, {1, -kInfinity}}; });
  EXPECT_EQ(refusal([&] {
              s.sample(std::vector<float>{1, 2});
            }),
            "no token left to choose from: all 2 logits are -infinity");
}

TEST(OddLogits, TheirNumberMustBeTheVocabularys) {
  Sampler s = sampler(4, kPlain);
  EXPECT_EQ(refusal([&] { s.sample(std::vector<float>{1, 2}); }), "logits: 2 of them, the vocabulary has 4");
  EXPECT_EQ(refusal([&] { s.distribution({}); }), "logits: 0 of them, the vocabulary has 4");
}

TEST(OddLogits, AreNotChanged) {
  const std::vector<float> logits = kFalling;
  std::vector<float> given = logits;
  Sampler s = sampler(4, [](SamplerOptions& o) { o.presence_penalty = 1, o.logit_bias = {{3, 1.0f}}; }, {0});
  s.sample(given);
  EXPECT_EQ(given, logits);
}

// Random chains on random rows full of extremes: whatever comes out is a token that was possible.
TEST(OddLogits, AnyChainOnAnyRowGivesAPossibleToken) {
  Random random(77);
  const float values[] = {0, -0.0f, 1, -1, 1e-40f, 88, -120, 3.4e38f, -3.4e38f, kInfinity, -kInfinity, kNaN};
  const auto unit = [&] { return static_cast<float>(random.uniform()); };
  for (int round = 0; round < 3000; ++round) {
    const auto vocab = static_cast<int32_t>(1 + random.next() % 100);
    Sampler s = sampler(static_cast<size_t>(vocab), [&](SamplerOptions& o) {
      for (size_t i = o.order.size(); i > 1; --i) std::swap(o.order[i - 1], o.order[random.next() % i]);
      o.temperature = random.next() % 4 == 0 ? 1e-20f : 3 * unit();
      o.top_k = static_cast<int32_t>(random.next() % 20);
      o.top_p = unit(), o.min_p = unit(), o.typical_p = unit();
      o.xtc_probability = unit(), o.xtc_threshold = unit() / 4;
      o.repetition_penalty = 0.1f + 3 * unit(), o.presence_penalty = 4 * unit() - 2,
      o.frequency_penalty = 1e38f * unit();
      o.penalty_last_n = static_cast<int32_t>(random.next() % 10) - 1;
      o.dry_multiplier = 2 * unit(), o.dry_base = 1 + 5 * unit();
      o.mirostat = random.next() % 5 == 0 ? 2 : 0;
      o.min_keep = 1 + static_cast<int32_t>(random.next() % 4);
    });
    for (int i = 0; i < 10; ++i) {
      std::vector<float> logits(static_cast<size_t>(vocab));
      for (float& x : logits) x = values[random.next() % std::size(values)];
      const bool possible = std::any_of(logits.begin(), logits.end(), [](float x) { return x > -kInfinity; });
      if (!possible) {
        EXPECT_NE(refusal([&] { s.sample(logits); }), "nothing was refused");
        continue;
      }
      double sum = 0;
      for (const auto& [id, p] : s.distribution(logits)) sum += p;
      ASSERT_NEAR(sum, 1, 1e-5);
      const TokenId token = s.sample(logits);
      ASSERT_TRUE(token >= 0 && token < vocab);
      ASSERT_TRUE(logits[static_cast<size_t>(token)] > -kInfinity);
      s.accept(token);
    }
  }
}

TEST(Options, OutOfRangeAreNamedWithTheirRange) {
  const auto refused = [](auto change) { return refusal([&] { Sampler(options(change), 4); }); };
  EXPECT_EQ(refused([](SamplerOptions& o) { o.temperature = -1; }), "temperature: -1 is not 0 (greedy) or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.temperature = kNaN; }), "temperature: nan is not 0 (greedy) or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.top_k = -1; }), "top_k: -1 is not 0 (off) or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.top_p = 1.5f; }), "top_p: 1.5 is not in [0, 1]");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.min_p = -0.5f; }), "min_p: -0.5 is not in [0, 1]");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.typical_p = kNaN; }), "typical_p: nan is not in [0, 1]");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.xtc_probability = 2; }), "xtc_probability: 2 is not in [0, 1]");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.xtc_threshold = -1; }), "xtc_threshold: -1 is not in [0, 1]");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.penalty_last_n = -2; }),
            "penalty_last_n: -2 is not -1 (the whole context) or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.repetition_penalty = 0; }),
            "repetition_penalty: 0 is not a number above 0");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.presence_penalty = kInfinity; }),
            "presence_penalty: inf is not a number");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.frequency_penalty = kNaN; }), "frequency_penalty: nan is not a number");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.dry_multiplier = -1; }), "dry_multiplier: -1 is not 0 (off) or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.dry_base = 0.5f; }), "dry_base: 0.5 is not 1 or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.dry_allowed_length = -1; }), "dry_allowed_length: -1 is not 0 or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.dry_penalty_last_n = -2; }),
            "dry_penalty_last_n: -2 is not -1 (the whole context) or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.mirostat = 1; }), "mirostat: 1 is not 0 (off) or 2");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.mirostat_tau = -1; }), "mirostat_tau: -1 is not 0 or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.mirostat_eta = kNaN; }), "mirostat_eta: nan is not 0 or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.min_keep = 0; }), "min_keep: 0 is not 1 or more");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.logit_bias = {{4, 1.0f}}; }), "logit_bias token: 4 is not in [0, 4)");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.logit_bias = {{-1, 1.0f}}; }), "logit_bias token: -1 is not in [0, 4)");
  EXPECT_EQ(refused([](SamplerOptions& o) {
              o.logit_bias = {{1, kNaN}};
            }),
            "logit_bias: nan is not a number or -infinity");
  EXPECT_EQ(refused([](SamplerOptions& o) {
              o.order = {"top_k", "magic"};
            }),
            "order: unknown sampler 'magic'; known are penalties, dry, top_k, typical, top_p, min_p, xtc, temperature");
  EXPECT_EQ(refused([](SamplerOptions& o) { o.order = {"top_k", "top_p", "top_k"}; }), "order: 'top_k' is there twice");
}

TEST(Options, AreCheckedAlsoWhenTheirStepIsNotInTheChain) {
  EXPECT_EQ(refusal([] { Sampler(options([](SamplerOptions& o) { o.order = {}, o.top_p = 7; }), 4); }),
            "top_p: 7 is not in [0, 1]");
}

TEST(Options, TokensOutsideTheVocabularyAreRefused) {
  EXPECT_EQ(refusal([] { Sampler(SamplerOptions(), 0); }), "vocab: 0 is not 1 or more");
  EXPECT_EQ(refusal([] { Sampler(SamplerOptions(), 4, {1, 4}); }), "dry_breakers: 4 is not in [0, 4)");
  Sampler s = sampler(4, kPlain);
  EXPECT_EQ(refusal([&] { s.accept(4); }), "token 4 is not in the vocabulary of 4");
  EXPECT_EQ(refusal([&] { s.accept(-1); }), "token -1 is not in the vocabulary of 4");
}

TEST(Sampler, AVocabularyOfOneHasOneAnswer) {
  Sampler s(SamplerOptions(), 1);
  EXPECT_EQ(s.sample(std::vector<float>{-5}), 0);
}

}  // namespace
}  // namespace ingle
