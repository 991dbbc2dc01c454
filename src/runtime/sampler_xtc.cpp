// XTC, "exclude top choices" (p-e-w, oobabooga/text-generation-webui pull request 6335): with probability
// xtc_probability, removes every token with a probability of xtc_threshold or more, except the least likely of them.
// With fewer than two such tokens, or when fewer than min_keep would be left, nothing is removed.
#include <algorithm>

#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class Xtc : public SamplerStep {
 public:
  Xtc(float probability, float threshold, int32_t min_keep)
      : probability_(probability), threshold_(threshold), min_keep_(static_cast<size_t>(min_keep)) {}

  void apply(Candidates& candidates, Random& random) override {
    if (random.uniform() >= probability_) return;
    const double threshold = threshold_ * candidates.total_weight();
    const Candidate* last = nullptr;  // the least likely of the top choices
    size_t count = 0;
    for (const Candidate& c : candidates.list()) {
      if (candidates.weight(c) < threshold) continue;
      ++count;
      if (last == nullptr || more_likely(*last, c)) last = &c;
    }
    if (count < 2 || candidates.size() - (count - 1) < min_keep_) return;
    candidates.keep_if([spared = *last](const Candidate& c) { return !more_likely(c, spared); });
  }

 private:
  double probability_, threshold_;
  size_t min_keep_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_xtc(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(o.xtc_probability >= 0 && o.xtc_probability <= 1, "xtc_probability", o.xtc_probability, "in [0, 1]");
  check_option(o.xtc_threshold >= 0 && o.xtc_threshold <= 1, "xtc_threshold", o.xtc_threshold, "in [0, 1]");
  if (o.xtc_probability == 0) return nullptr;
  return std::make_unique<Xtc>(o.xtc_probability, o.xtc_threshold, o.min_keep);
}

}  // namespace ingle
