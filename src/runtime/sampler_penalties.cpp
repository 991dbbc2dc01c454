// Makes tokens that were seen lately less likely. With n the times a token occurs in the last penalty_last_n tokens, n
// > 0:
//   logit > 0: logit / repetition_penalty, else logit * repetition_penalty   (Keskar et al., CTRL, 2019)
//   then logit - n * frequency_penalty - presence_penalty                    (OpenAI's completion API)
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class Penalties : public SamplerStep {
 public:
  Penalties(const SamplerOptions& options, int32_t vocab)
      : window_(options.penalty_last_n),
        repetition_(options.repetition_penalty),
        presence_(options.presence_penalty),
        frequency_(options.frequency_penalty),
        counts_(vocab) {}

  void apply(Candidates& candidates, Random& random) override {
    candidates.adjust(counts_, [this](float logit, int32_t count) {
      const float repeated = logit > 0 ? logit / repetition_ : logit * repetition_;
      return repeated - static_cast<float>(count) * frequency_ - presence_;
    });
  }

  void accept(TokenId token) override {
    ++counts_[token];
    if (window_ < 0) return;  // counts are all there is to remember
    if (recent_.size() < static_cast<size_t>(window_)) {
      recent_.push_back(token);
      return;
    }
    const TokenId leaving = std::exchange(recent_[oldest_], token);
    oldest_ = (oldest_ + 1) % recent_.size();
    if (--counts_[leaving] == 0) counts_.erase(leaving);
  }

  void reset() override {
    counts_.clear();
    recent_.clear();
    oldest_ = 0;
  }

 private:
  int32_t window_;  // -1: everything
  float repetition_, presence_, frequency_;
  TokenValues counts_;
  std::vector<TokenId> recent_;  // ring of the window's tokens
  size_t oldest_ = 0;
};

}  // namespace

std::unique_ptr<SamplerStep> make_penalties(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(o.penalty_last_n >= -1, "penalty_last_n", o.penalty_last_n, "-1 (the whole context) or more");
  check_option(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty), "repetition_penalty",
               o.repetition_penalty, "a number above 0");
  check_option(std::isfinite(o.presence_penalty), "presence_penalty", o.presence_penalty, "a number");
  check_option(std::isfinite(o.frequency_penalty), "frequency_penalty", o.frequency_penalty, "a number");
  const bool neutral = o.repetition_penalty == 1 && o.presence_penalty == 0 && o.frequency_penalty == 0;
  if (o.penalty_last_n == 0 || neutral) return nullptr;
  return std::make_unique<Penalties>(o, setup.vocab);
}

}  // namespace ingle
