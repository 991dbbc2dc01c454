// Locally typical sampling (Meister et al., 2023): text by people carries about the expected information at every word,
// so this keeps the tokens whose surprise -log p is closest to the entropy H = sum -p log p, as many as it takes for
// their probabilities to add up to typical_p or more. The most likely token can be among those removed.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/portable_math.h"
#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class Typical : public SamplerStep {
 public:
  Typical(float p, int32_t min_keep) : p_(p), min_keep_(static_cast<size_t>(min_keep)) {}

  void apply(Candidates& candidates, Random& random) override {
    const double total = candidates.total_weight();
    const double log_total = portable_log(total);
    // p = w / total, so H = log(total) - sum w log(w) / total.
    const std::span<const Candidate> list = candidates.list();
    candidates.fill_weights(weights_);
    double sum = 0;
    for (size_t i = 0; i < list.size(); ++i)
      if (weights_[i] > 0) sum += weights_[i] * candidates.log_weight(list[i]);
    const double entropy = log_total - sum / total;

    by_distance_.clear();
    for (const Candidate& c : list)
      by_distance_.push_back({std::abs(log_total - candidates.log_weight(c) - entropy), c});
    const auto more_typical = [](const Distance& a, const Distance& b) {
      return a.distance < b.distance || (a.distance == b.distance && more_likely(a.candidate, b.candidate));
    };
    size_t sorted = 0;
    kept_.clear();
    for (double mass = 0; kept_.size() < by_distance_.size() && (mass < p_ * total || kept_.size() < min_keep_);) {
      sorted = grow_sorted(by_distance_, sorted, kept_.size() + 1, more_typical);
      const Candidate& c = by_distance_[kept_.size()].candidate;
      mass += candidates.weight(c);
      kept_.push_back(c);
    }
    std::sort(kept_.begin(), kept_.end(), more_likely);
    candidates.replace(kept_);
  }

 private:
  struct Distance {
    double distance;
    Candidate candidate;
  };
  double p_;
  size_t min_keep_;
  std::vector<double> weights_;
  std::vector<Distance> by_distance_;
  std::vector<Candidate> kept_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_typical(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(o.typical_p >= 0 && o.typical_p <= 1, "typical_p", o.typical_p, "in [0, 1]");
  if (o.typical_p == 1) return nullptr;
  return std::make_unique<Typical>(o.typical_p, o.min_keep);
}

}  // namespace ingle
