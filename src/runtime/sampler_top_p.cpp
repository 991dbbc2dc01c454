// Nucleus sampling (Holtzman et al., 2020): keeps the smallest set of most likely tokens whose probabilities add up to
// p or more; the token that reaches p is in it.
#include <algorithm>

#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class TopP : public SamplerStep {
 public:
  TopP(float p, int32_t min_keep) : p_(p), min_keep_(static_cast<size_t>(min_keep)) {}

  void apply(Candidates& candidates, Random& random) override {
    const double enough = p_ * candidates.total_weight();
    const size_t size = candidates.size();
    double sum = 0;
    size_t count = 0;
    while (count < size && (sum < enough || count < min_keep_)) sum += candidates.weight(candidates.at_rank(count++));
    candidates.keep_top(count);
  }

 private:
  double p_;
  size_t min_keep_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_top_p(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(o.top_p >= 0 && o.top_p <= 1, "top_p", o.top_p, "in [0, 1]");
  if (o.top_p == 1) return nullptr;
  return std::make_unique<TopP>(o.top_p, o.min_keep);
}

}  // namespace ingle
