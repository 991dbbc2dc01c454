// A block of 256 numbers made ready for a search: divided by the largest of them, so that no square overflows or
// vanishes, and with a weight each.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/half.h"
#include "quant/search.h"

namespace ingle {

struct WeighedBlock {
  // importance: nullptr, where all numbers weigh the same, or one for each. Of `group` numbers that have no weight at
  // all, all weigh the same too: columns that were never active while importance was measured may matter one day.
  WeighedBlock(const float* numbers, const float* importance, int group) noexcept
      : magnitude(std::fabs(signed_largest(256, numbers))) {
    if (!searchable()) return;
    const float inverse = 1 / magnitude;
    for (int i = 0; i < 256; ++i) x[i] = numbers[i] * inverse;
    const float variance = sum_of_squares(256, x) / 256;
    for (int first = 0; first < 256; first += group) {
      float sum = 0;
      for (int i = first; i < first + group; ++i) {
        const float asked = importance == nullptr ? 1 : importance[i];
        const bool usable = asked > 0 && std::isfinite(asked);
        w[i] = importance == nullptr ? 1 : usable ? asked * std::sqrt(variance + x[i] * x[i]) : 0;
        sum += w[i];
      }
      for (int i = first; i < first + group && !(sum > 0); ++i) w[i] = 1;
    }
  }

  // Not of a block of zeros, and not of one with a number that is infinite or none.
  bool searchable() const noexcept { return magnitude >= kNoMagnitude && std::isfinite(magnitude); }
  // What stands for the scale of a block that is not: zero, or what a reader sees is not finite.
  uint16_t plain_scale() const noexcept { return f32_to_f16(magnitude); }

  float magnitude;
  float x[256], w[256];
};

}  // namespace ingle
