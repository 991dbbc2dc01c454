// Arithmetic on the distribution that a row of logits stands for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ingle/sampling.h"

namespace ingle::app {

double log_sum_exp(std::span<const float> logits);  // not empty
TokenId top_token(std::span<const float> logits);   // the first of the largest

// sum p (log p - log q) in nats, where log p = a - log_sum_exp(a) and log q likewise of b: both are normalized here.
double kl_divergence(std::span<const float> a, std::span<const float> b);

// The mean negative log-likelihood of tokens, and how sure it is.
class Likelihood {
 public:
  void add(double log_probability);
  int64_t count() const noexcept { return count_; }
  double perplexity() const;
  // Of the perplexity, from the spread of the single likelihoods: s / sqrt(n - 1), carried through exp().
  double standard_error() const;

 private:
  int64_t count_ = 0;
  double sum_ = 0, squares_ = 0;
};

}  // namespace ingle::app
