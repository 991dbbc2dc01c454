// Keeps the k most likely tokens (Fan, Lewis and Dauphin, 2018).
#include <algorithm>

#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class TopK : public SamplerStep {
 public:
  explicit TopK(int32_t k) : k_(static_cast<size_t>(k)) {}
  void apply(Candidates& candidates, Random& random) override { candidates.keep_top(k_); }

 private:
  size_t k_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_top_k(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(o.top_k >= 0, "top_k", o.top_k, "0 (off) or more");
  if (o.top_k == 0) return nullptr;
  return std::make_unique<TopK>(std::max(o.top_k, o.min_keep));
}

}  // namespace ingle
