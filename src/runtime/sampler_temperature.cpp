// Divides logits by the temperature: below 1 sharpens the distribution, above 1 flattens it. 0 means greedy, which is
// not a step but the end of the chain (sampler.cpp).
#include <cmath>

#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class Temperature : public SamplerStep {
 public:
  explicit Temperature(float temperature) : factor_(1.0 / temperature) {}
  void apply(Candidates& candidates, Random& random) override { candidates.scale(factor_); }

 private:
  double factor_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_temperature(const SamplerSetup& setup) {
  const float t = setup.options.temperature;
  check_option(t >= 0 && std::isfinite(t), "temperature", t, "0 (greedy) or more");
  if (t == 0 || t == 1) return nullptr;
  return std::make_unique<Temperature>(t);
}

}  // namespace ingle
