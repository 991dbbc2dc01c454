// Distributions written as probabilities, and options with everything off, for the sampler's tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/sampler.h"

namespace ingle {

using Distribution = std::vector<std::pair<TokenId, float>>;

// Logits of these probabilities: token i has probability probabilities[i] (before any step).
inline std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

// Everything off, temperature 1, then what `change` says.
template <class Change>
SamplerOptions options(Change change) {
  SamplerOptions o;
  o.temperature = 1;
  o.top_k = 0;
  o.top_p = 1;
  o.min_p = 0;
  change(o);
  return o;
}

template <class Change>
Sampler sampler(size_t vocab, Change change, std::vector<TokenId> context = {}, std::vector<TokenId> breakers = {}) {
  Sampler result(options(change), static_cast<int32_t>(vocab), std::move(breakers));
  for (const TokenId token : context) result.accept(token);
  return result;
}

inline void expect_equal(const Distribution& got, const Distribution& wanted) {
  ASSERT_EQ(got.size(), wanted.size()) << "candidates: " << ::testing::PrintToString(got);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, wanted[i].first) << "rank " << i;
    EXPECT_NEAR(got[i].second, wanted[i].second, 1e-6) << "rank " << i;
  }
}

// The distribution of these logits with nothing done to them, most likely first.
inline Distribution softmax(const std::vector<double>& logits) {
  double total = 0;
  for (const double x : logits) total += std::exp(x);
  Distribution result;
  for (size_t i = 0; i < logits.size(); ++i)
    result.emplace_back(static_cast<TokenId>(i), static_cast<float>(std::exp(logits[i]) / total));
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

inline std::vector<TokenId> ids(const Distribution& distribution) {
  std::vector<TokenId> result;
  for (const auto& [id, p] : distribution) result.push_back(id);
  return result;
}

}  // namespace ingle
