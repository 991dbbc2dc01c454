// Mirostat 2 (Basu et al., 2021): steers the surprise of the text towards tau bits a token. Tokens with a surprise
// -log2 p above mu are removed, one is drawn from the rest, and mu -= eta * (surprise of that token - tau), where the
// surprise is taken from the distribution it was drawn from. mu starts at 2 tau.
#pragma once

#include "runtime/sampler_step.h"

namespace ingle {

class Mirostat {
 public:
  explicit Mirostat(const SamplerOptions& options);  // checks tau and eta
  void filter(Candidates& candidates) const;
  void learn(double surprise_bits) noexcept { mu_ -= eta_ * (surprise_bits - tau_); }
  void reset() noexcept { mu_ = 2 * tau_; }

 private:
  double tau_, eta_;
  double mu_;
  size_t min_keep_;
};

}  // namespace ingle
