// Scales that are odd multiples of one unit: y = unit * (2 * code + 1) * point, a code for each group of a block. What
// the IQ1, IQ2 and IQ3 formats share.
//
// Each group's best scale is searched by itself; then the unit and the codes are found together, by turns: codes for
// the unit, points for the codes, and the unit that fits these best by least squares.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

// Of points p chosen for numbers x: what the best scale for them, and the error of any, follow from.
struct PointFit {
  float cross = 0;   // sum w x p
  float square = 0;  // sum w p^2

  void add(float w, float x, float p) noexcept {
    cross += w * x * p;
    square += w * p * p;
  }
  PointFit& operator+=(const PointFit& other) noexcept {
    cross += other.cross;
    square += other.square;
    return *this;
  }
  // Error of a scale, less the sum of w x^2.
  float error(float scale) const noexcept { return scale * (scale * square - 2 * cross); }
};

// Where to look for a group's scale: the largest of its numbers, divided by it, is from `first` to `last`, or where all
// numbers are alike, `lowest`: the lowest level there is.
struct ScaleRange {
  float lowest, first, last;
};

// The scale that a group is fitted best with. snap(scale) chooses points for it and returns their fit. 0: none.
template <class Snap>
float search_group_scale(float largest, ScaleRange range, Snap snap) noexcept {
  constexpr int kTried = 16, kRefined = 2;
  if (!(largest > 0)) return 0;
  float best = 0, scale = largest / range.last;
  const auto look = [&](float candidate) {
    const PointFit fit = snap(candidate);
    if (!(fit.cross > 0 && fit.cross * fit.cross > best * fit.square)) return;
    best = fit.cross * fit.cross / fit.square;
    scale = fit.cross / fit.square;
  };
  for (int k = 0; k < kTried; ++k)
    look(largest / (range.first + (range.last - range.first) * static_cast<float>(k) / (kTried - 1)));
  look(largest / range.lowest);
  for (int k = 0; k < kRefined; ++k) look(scale);
  return scale;
}

// `scales`: the groups' own; snap(group, scale) chooses points and keeps them, those of its last call count. The unit
// is stored as d = unit * `units`, an f16, which is returned; `magnitude` is what all scales have been divided by.
template <int Groups, int Codes, class Snap>
uint16_t fit_odd_scales(const float* scales, float magnitude, float units, uint8_t* codes, Snap snap) noexcept {
  constexpr int kTurns = 3;
  const auto code_for = [](float scale, float unit) { return nearest((scale / unit - 1) / 2, 0, Codes - 1); };
  const auto odd = [](int code) { return static_cast<float>(2 * code + 1); };
  std::fill_n(codes, Groups, uint8_t{0});
  float unit = *std::max_element(scales, scales + Groups) / odd(Codes - 1);
  if (unit == 0) return 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    PointFit all;
    for (int g = 0; g < Groups; ++g) {
      const float multiple = odd(code_for(scales[g], unit));
      const PointFit fit = snap(g, unit * multiple);
      all += {fit.cross * multiple, fit.square * multiple * multiple};
    }
    if (all.cross > 0 && all.square > 0) unit = all.cross / all.square;
  }
  const uint16_t d = f32_to_f16(unit * magnitude * units);
  unit = f16_to_f32(d) / (magnitude * units);
  if (!(unit > 0) || !std::isfinite(unit)) return d;
  for (int g = 0; g < Groups; ++g) {
    const int middle = code_for(scales[g], unit), first = std::max(0, middle - 1);
    float least = 0;
    codes[g] = static_cast<uint8_t>(middle);
    for (int code = first; code <= std::min(Codes - 1, middle + 1); ++code) {
      const float error = snap(g, unit * odd(code)).error(unit * odd(code));
      if (code != first && !(error < least)) continue;
      least = error;
      codes[g] = static_cast<uint8_t>(code);
    }
    snap(g, unit * odd(codes[g]));
  }
  return d;
}

}  // namespace ingle
