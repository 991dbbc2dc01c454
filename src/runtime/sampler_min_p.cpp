// Keeps tokens at least min_p times as likely as the most likely one (Nguyen et al., "Turning up the heat", 2024).
#include <algorithm>

#include "runtime/portable_math.h"
#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class MinP : public SamplerStep {
 public:
  MinP(float min_p, int32_t min_keep) : log_min_p_(portable_log(min_p)), min_keep_(static_cast<size_t>(min_keep)) {}

  // p / p_max >= min_p is a comparison of logits: no sum, no sort.
  void apply(Candidates& candidates, Random& random) override {
    const auto likely = [&](const Candidate& c) { return candidates.log_weight(c) >= log_min_p_; };
    const std::span<const Candidate> list = candidates.list();
    if (static_cast<size_t>(std::count_if(list.begin(), list.end(), likely)) < min_keep_) {
      candidates.keep_top(min_keep_);
    } else {
      candidates.keep_if(likely);
    }
  }

 private:
  double log_min_p_;
  size_t min_keep_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_min_p(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(o.min_p >= 0 && o.min_p <= 1, "min_p", o.min_p, "in [0, 1]");
  if (o.min_p == 0) return nullptr;
  return std::make_unique<MinP>(o.min_p, o.min_keep);
}

}  // namespace ingle
