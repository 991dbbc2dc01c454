// Numbers as points of a codebook of magnitudes, with signs beside them: what IQ2 and IQ3 store.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "quant/nearest_points.h"
#include "quant/odd_scales.h"
#include "quant/weighed_block.h"

namespace ingle {

enum class Signs {
  kAny,
  kEven,  // of eight elements an even number is negative
};

template <class Near>
class SignedPoints {
 public:
  static constexpr int kWidth = Near::kWidth;

  // Where the number of negatives has to be even and is not, the element that costs least takes the other sign: with
  // the lowest level l its error grows from (s l - |x|)^2 to (s l + |x|)^2, by 4 s l |x|.
  SignedPoints(const Near& near, const WeighedBlock& block, Signs rule) noexcept : near_(near), w_(block.w) {
    for (int v = 0; v < 32; ++v) {
      const float *x = block.x + 8 * v, *w = w_ + 8 * v;
      int cheapest = 0;
      signs[v] = 0;
      for (int j = 0; j < 8; ++j) {
        x_[8 * v + j] = std::fabs(x[j]);
        if (x[j] < 0) signs[v] |= static_cast<uint8_t>(1 << j);
        if (w[j] * std::fabs(x[j]) < w[cheapest] * std::fabs(x[cheapest])) cheapest = j;
      }
      if (rule == Signs::kAny || std::popcount(signs[v]) % 2 == 0) continue;
      signs[v] ^= static_cast<uint8_t>(1 << cheapest);
      x_[8 * v + cheapest] = -x_[8 * v + cheapest];
    }
  }

  // Chooses points for `count` elements from `first` on.
  PointFit snap(int first, int count, float scale) noexcept {
    PointFit fit;
    for (int i = first; i < first + count; i += kWidth) {
      const int found = near_.find(x_ + i, w_ + i, scale);
      index[i / kWidth] = static_cast<uint16_t>(found);
      for (int j = 0; j < kWidth; ++j) fit.add(w_[i + j], x_[i + j], near_.point(found)[j]);
    }
    return fit;
  }
  float largest(int first, int count) const noexcept { return range_of(count, x_ + first).max; }

  uint8_t signs[32];             // bit j of byte i: element 8 * i + j is negative
  uint16_t index[256 / kWidth];  // of the points chosen last

 private:
  const Near& near_;
  const float* w_;
  float x_[256];  // magnitudes; below 0 where the sign is not the number's own
};

// Points, and a code of four bits for each of Groups scales. Returns d = unit * `units`.
template <int Groups, class Near>
uint16_t choose_points(SignedPoints<Near>& points, float magnitude, ScaleRange range, float units,
                       uint8_t* codes) noexcept {
  constexpr int kEach = 256 / Groups;
  float scales[Groups];
  for (int g = 0; g < Groups; ++g)
    scales[g] = search_group_scale(points.largest(kEach * g, kEach), range,
                                   [&](float scale) { return points.snap(kEach * g, kEach, scale); });
  return fit_odd_scales<Groups, 16>(scales, magnitude, units, codes,
                                    [&](int g, float scale) { return points.snap(kEach * g, kEach, scale); });
}

}  // namespace ingle
