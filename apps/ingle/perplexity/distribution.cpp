#include "apps/ingle/perplexity/distribution.h"

#include <algorithm>
#include <cmath>

namespace ingle::app {

double log_sum_exp(std::span<const float> logits) {
  const float largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

TokenId top_token(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

double kl_divergence(std::span<const float> a, std::span<const float> b) {
  const double norm_a = log_sum_exp(a), norm_b = log_sum_exp(b);
  double divergence = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double log_p = a[i] - norm_a;
    if (log_p < -100) continue;  // adds nothing, and -infinity - -infinity is no number
    divergence += std::exp(log_p) * (log_p - (b[i] - norm_b));
  }
  return divergence;
}

void Likelihood::add(double log_probability) {
  ++count_;
  sum_ -= log_probability;
  squares_ += log_probability * log_probability;
}

double Likelihood::perplexity() const { return std::exp(sum_ / static_cast<double>(count_)); }

double Likelihood::standard_error() const {
  if (count_ < 2) return 0;
  const double n = static_cast<double>(count_), mean = sum_ / n;
  return perplexity() * std::sqrt(std::max(0.0, squares_ / n - mean * mean) / (n - 1));
}

}  // namespace ingle::app
