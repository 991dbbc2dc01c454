// From the rope keys of a file to the angles of each channel pair.
#pragma once

#include <optional>
#include <span>

#include "backend/backend.h"
#include "models/hparams.h"
#include "models/weights.h"

namespace ingle {

// `factors`: the tensor rope_freqs ([rotated / 2], the frequency of pair i is divided by factors[i]), or empty.
Rope make_rope(const RopeHparams& h, Rope::Pairs pairs, std::span<const float> factors);

// What YaRN multiplies queries and keys by, to either side, when positions are stretched by `factor`.
double yarn_magnitude(double factor, double multiplier);

// Whether keys of a session with this context turn by the factors for long texts, which is not the same cache.
bool turns_for_long_texts(const GgufFile& file, const Hparams& h, int64_t context);

// The ropes of a model: sliding layers may have one of their own, and so may texts longer than those it was first
// trained with (LongRoPE, Ding et al., arXiv:2402.13753), whose files bring factors for either length. Keys in the
// cache have turned already, so what decides is not how long a sequence is but how long it may become.
class Ropes {
 public:
  Ropes(const Hparams& h, const Weights& w, Rope::Pairs pairs);

  // `context`: the positions a sequence may come to have.
  const Rope& of(int32_t window, int64_t context) const noexcept {
    if (window != 0 && window_) return *window_;
    return far_ && context > original_context_ ? *far_ : usual_;
  }

 private:
  Rope usual_;
  std::optional<Rope> far_, window_;
  int64_t original_context_;
};

}  // namespace ingle
