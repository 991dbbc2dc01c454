#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace ingle {
namespace {

// The pair (as a fraction of all) that turns `turns` times within the original context.
double turning_pair(const RopeHparams& h, double turns) {
  const auto rotated = static_cast<double>(h.rotated);
  return rotated * std::log(static_cast<double>(h.original_context) / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(h.base));
}

// LongRoPE: queries and keys grow with how far the context was stretched.
double long_magnitude(const Hparams& h) {
  const auto original = static_cast<double>(h.rope.original_context);
  const double stretch = static_cast<double>(h.context_length) / original;
  return stretch <= 1 || original <= 1 ? 1 : std::sqrt(1 + std::log(stretch) / std::log(original));
}

}  // namespace

double yarn_magnitude(double factor, double multiplier) {
  return factor <= 1 ? 1 : 0.1 * multiplier * std::log(factor) + 1;
}

// YaRN, arXiv:2309.00071: pairs that turn often keep their frequency, those that turn less than once within the
// original context are interpolated, with a ramp in between.
Rope make_rope(const RopeHparams& h, Rope::Pairs pairs, std::span<const float> factors) {
  const bool yarn = h.scaling == RopeScaling::kYarn;
  const double first = turning_pair(h, h.beta_fast), last = turning_pair(h, h.beta_slow);
  const double low = std::max(0.0, h.whole_pairs ? std::floor(first) : first);
  const double high = std::min(static_cast<double>(h.rotated - 1), h.whole_pairs ? std::ceil(last) : last);

  Rope rope{.pairs = pairs, .rotated = h.rotated, .inverse_frequency = {}, .magnitude = 1.0f};
  for (int64_t i = 0; i < h.rotated / 2; ++i) {
    // Rounded where the models' own f32 implementations round: the exponent, the power, its reciprocal. Far along a
    // sequence an angle is a large multiple of the frequency, and its last bit decides.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(h.rotated);
    float frequency = 1.0f / static_cast<float>(std::pow(h.base, static_cast<double>(exponent)));
    if (!factors.empty()) frequency /= factors[static_cast<size_t>(i)];
    if (yarn) {
      const double ramp = (static_cast<double>(i) - low) / std::max(0.001, high - low);
      const double keep = (1 - std::clamp(ramp, 0.0, 1.0)) * h.extrapolation;
      frequency = static_cast<float>(frequency / h.factor * (1 - keep) + frequency * keep);
    } else {
      frequency /= static_cast<float>(h.factor);
    }
    rope.inverse_frequency.push_back(frequency);
  }
  double magnitude = h.attention_factor;
  if (yarn) {
    // The file stores 0.1 * the second multiplier of DeepSeek's ratio; without it the ratio's lower part is 1.
    magnitude *= h.log_multiplier == 0 ? yarn_magnitude(h.factor, 1)
                                       : yarn_magnitude(h.factor, 1) / yarn_magnitude(h.factor, h.log_multiplier / 0.1);
  }
  rope.magnitude = static_cast<float>(magnitude);
  return rope;
}

bool turns_for_long_texts(const GgufFile& file, const Hparams& h, int64_t context) {
  return file.find("rope_factors_long.weight") && context > h.rope.original_context;
}

Ropes::Ropes(const Hparams& h, const Weights& w, Rope::Pairs pairs) : original_context_(h.rope.original_context) {
  const int64_t count = h.rope.rotated / 2;
  const std::span<const float> near = w.find_vector("rope_factors_short", count);
  const std::span<const float> far = w.find_vector("rope_factors_long", count);
  if (h.rope.scaling == RopeScaling::kLong && (near.empty() || far.empty())) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}.rope.scaling.type' is \"longrope\", {} is missing", h.file,
                h.architecture, near.empty() ? "rope_factors_short.weight" : "rope_factors_long.weight");
  }
  RopeHparams rope = h.rope;
  const Keys keys(w.file(), h.architecture);
  if (!far.empty() && !keys.has("rope.scaling.attn_factor")) rope.attention_factor = long_magnitude(h);
  usual_ = make_rope(rope, pairs, near.empty() ? w.find_vector("rope_freqs", count) : near);
  if (!far.empty()) far_ = make_rope(rope, pairs, far);
  if (h.window_rope != h.rope) window_ = make_rope(h.window_rope, pairs, {});
}

}  // namespace ingle
