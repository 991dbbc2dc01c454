// Which point of a codebook lies closest to a vector, when every element has a weight of its own.
//
// Every element is first rounded to the level nearest to it. If those levels are a point, no other is closer, whatever
// the weights. If not, the points that lie around them are tried, from a list that is made once for all combinations of
// levels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "quant/codebooks.h"

namespace ingle {

// `Levels` is how many different levels the codebook has.
template <int Entries, int Width, int Levels>
class NearestPoints {
 public:
  static constexpr int kWidth = Width;

  // No allocation: an encoder that makes its table on first use must not throw.
  explicit NearestPoints(const Codebook<Entries, Width>& book) noexcept;

  // The index of the point p with the least sum of w (scale * p - x)^2 among those tried. scale > 0, w >= 0; numbers
  // that are not finite give some index.
  int find(const float* x, const float* w, float scale) const noexcept;
  const float* point(int index) const noexcept { return points_[index]; }

 private:
  static constexpr int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }
  static constexpr int kKeys = power(Levels, Width);
  // So many leave at most 2 % more than a look at all points would (tests/quant/nearest_points_test.cpp).
  static constexpr int kTried = 16;

  void list_neighbours(int key) noexcept;

  float levels_[Levels];
  float borders_[Levels - 1];  // halfway between levels
  alignas(16) float points_[Entries][Width];
  uint16_t neighbours_[kKeys][kTried];  // nearest first
  bool is_point_[kKeys];                // then its index is the first
};

template <int Entries, int Width, int Levels>
NearestPoints<Entries, Width, Levels>::NearestPoints(const Codebook<Entries, Width>& book) noexcept {
  int levels = 0;
  const auto known = [&](float level) { return std::find(levels_, levels_ + levels, level) != levels_ + levels; };
  for (int i = 0; i < Entries; ++i) {
    for (int j = 0; j < Width; ++j) {
      points_[i][j] = book.points[i][j];
      if (levels < Levels && !known(points_[i][j])) levels_[levels++] = points_[i][j];
    }
  }
  std::sort(levels_, levels_ + Levels);
  for (int i = 0; i + 1 < Levels; ++i) borders_[i] = (levels_[i] + levels_[i + 1]) / 2;
  for (int key = 0; key < kKeys; ++key) list_neighbours(key);
}

template <int Entries, int Width, int Levels>
void NearestPoints<Entries, Width, Levels>::list_neighbours(int key) noexcept {
  float centre[Width];
  for (int j = 0, rest = key; j < Width; ++j, rest /= Levels) centre[j] = levels_[rest % Levels];
  std::pair<float, uint16_t> by_distance[Entries];
  for (int i = 0; i < Entries; ++i) {
    float distance = 0;
    for (int j = 0; j < Width; ++j) distance += (points_[i][j] - centre[j]) * (points_[i][j] - centre[j]);
    by_distance[i] = {distance, static_cast<uint16_t>(i)};
  }
  std::partial_sort(by_distance, by_distance + kTried, by_distance + Entries);
  for (int k = 0; k < kTried; ++k) neighbours_[key][k] = by_distance[k].second;
  is_point_[key] = by_distance[0].first == 0;
}

template <int Entries, int Width, int Levels>
int NearestPoints<Entries, Width, Levels>::find(const float* x, const float* w, float scale) const noexcept {
  const float inverse = 1 / scale;
  int key = 0;
  for (int j = Width - 1; j >= 0; --j) {
    int level = 0;
    for (const float border : borders_) level += x[j] * inverse > border ? 1 : 0;
    key = key * Levels + level;
  }
  if (is_point_[key]) return neighbours_[key][0];

  // sum of w (scale p - x)^2, less what no p changes: sum of (a p - b) p. Four sums side by side.
  float a[Width], b[Width];
  for (int j = 0; j < Width; ++j) {
    a[j] = scale * scale * w[j];
    b[j] = 2 * scale * w[j] * x[j];
  }
  int best = neighbours_[key][0];
  float least = 0;
  for (int k = 0; k < kTried; ++k) {
    const float* p = points_[neighbours_[key][k]];
    float sums[4] = {};
    for (int j = 0; j < Width; j += 4)
      for (int l = 0; l < 4; ++l) sums[l] += (a[j + l] * p[j + l] - b[j + l]) * p[j + l];
    const float error = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    if (k == 0 || error < least) {
      least = error;
      best = neighbours_[key][k];
    }
  }
  return best;
}

}  // namespace ingle
