#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ingle {
namespace {

// The pair (as a fraction of all) that turns `turns` times within the original context.
double turning_pair(const RopeHparams& h, double turns) {
  const auto rotated = static_cast<double>(h.rotated);
  return rotated * std::log(static_cast<double>(h.original_context) / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(h.base));
}

double magnitude_scale(double factor, double multiplier) {
  return factor <= 1 ? 1 : 0.1 * multiplier * std::log(factor) + 1;
}

}  // namespace

// YaRN, arXiv:2309.00071: pairs that turn often keep their frequency, those that turn less than once within the
// original context are interpolated, with a ramp in between.
Rope make_rope(const RopeHparams& h, Rope::Pairs pairs, std::span<const float> factors) {
  const bool yarn = h.scaling == RopeScaling::kYarn;
  const double low = std::max(0.0, std::floor(turning_pair(h, h.beta_fast)));
  const double high = std::min(static_cast<double>(h.rotated - 1), std::ceil(turning_pair(h, h.beta_slow)));

  Rope rope{.pairs = pairs, .rotated = h.rotated, .inverse_frequency = {}, .magnitude = 1.0f};
  for (int64_t i = 0; i < h.rotated / 2; ++i) {
    double frequency = std::pow(h.base, -2.0 * static_cast<double>(i) / static_cast<double>(h.rotated));
    if (!factors.empty()) frequency /= factors[static_cast<size_t>(i)];
    const double interpolated = frequency / h.factor;
    double mix = 0;  // 1: keep the frequency
    if (yarn) {
      const double ramp = (static_cast<double>(i) - low) / std::max(0.001, high - low);
      mix = (1 - std::clamp(ramp, 0.0, 1.0)) * h.extrapolation;
    }
    rope.inverse_frequency.push_back(static_cast<float>(interpolated * (1 - mix) + frequency * mix));
  }
  double magnitude = h.attention_factor;
  if (yarn) {
    // The file stores 0.1 * the second multiplier of DeepSeek's ratio; without it the ratio's lower part is 1.
    magnitude *= h.log_multiplier == 0
                     ? magnitude_scale(h.factor, 1)
                     : magnitude_scale(h.factor, 1) / magnitude_scale(h.factor, h.log_multiplier / 0.1);
  }
  rope.magnitude = static_cast<float>(magnitude);
  return rope;
}

}  // namespace ingle
