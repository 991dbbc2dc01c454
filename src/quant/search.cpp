#include "quant/search.h"

#include <algorithm>
#include <cmath>

#include "quant/block_io.h"

namespace ingle {

namespace {

// Most elements that ever share one search.
constexpr int kMaxElements = 64;

// What the symmetric model is judged by: the best scale for given levels l is cross / square, its gain cross^2 /
// square.
struct Fit {
  float cross = 0;   // sum w x l
  float square = 0;  // sum w l^2

  void add(float w, float x, int level) noexcept {
    const float l = static_cast<float>(level);
    cross += w * x * l;
    square += w * l * l;
  }
  void remove(float w, float x, int level) noexcept {
    const float l = static_cast<float>(level);
    cross -= w * x * l;
    square -= w * l * l;
  }
  // Whether this fit gains more than the other, without dividing.
  bool beats(const Fit& other) const noexcept {
    return cross * cross * other.square > other.cross * other.cross * square;
  }
  // Where nothing weighs anything, `plain` serves as well as any. Overflow shows as infinity or NaN.
  float scale(float plain) const noexcept { return square == 0 ? plain : cross / square; }
};

constexpr int kDescentPasses = 5;

// Moves one code at a time to where the scale fitted without it would put it, while that gains.
void descend(int n, int low, int high, const float* x, const float* w, int* levels, Fit& fit) noexcept {
  for (int pass = 0; pass < kDescentPasses; ++pass) {
    bool changed = false;
    for (int i = 0; i < n; ++i) {
      Fit without = fit;
      without.remove(w[i], x[i], levels[i]);
      if (!(without.cross > 0 && without.square > 0)) continue;
      const int level = nearest(x[i] * without.square / without.cross, low, high);
      if (level == levels[i]) continue;
      without.add(w[i], x[i], level);
      if (without.square > 0 && without.beats(fit)) {
        levels[i] = level;
        fit = without;
        changed = true;
      }
    }
    if (!changed) return;
  }
}

void store_codes(int n, const int* levels, int offset, uint8_t* codes) noexcept {
  for (int i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(levels[i] + offset);
}

}  // namespace

float sum_of_squares(int64_t n, const float* x) noexcept {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

float signed_largest(int n, const float* x) noexcept {
  float largest = 0;
  for (int i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return x[i];
    if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
  }
  return largest;
}

Range range_of(int n, const float* x) noexcept {
  Range range{x[0], x[0]};
  for (int i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return {x[i], x[i]};
    range.min = std::min(range.min, x[i]);
    range.max = std::max(range.max, x[i]);
  }
  return range;
}

void weigh(int n, const float* importance, float variance, const float* x, float* w) noexcept {
  for (int i = 0; i < n; ++i) w[i] = importance[i] * std::sqrt(variance + x[i] * x[i]);
}

float search_symmetric(int n, int nmax, const float* x, const float* w, uint8_t* codes) noexcept {
  std::fill_n(codes, n, uint8_t{0});
  const float largest = signed_largest(n, x);
  if (std::fabs(largest) < kNoMagnitude) return 0;

  int levels[kMaxElements];
  float scale = 0;
  float best = 0;
  // The plain scale first, then nine steps of a tenth of a level to either side.
  for (int step : {0, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    const float inverse = -(static_cast<float>(nmax) + 0.1f * static_cast<float>(step)) / largest;
    Fit fit;
    for (int i = 0; i < n; ++i) {
      levels[i] = nearest(inverse * x[i], -nmax, nmax - 1);
      fit.add(w[i], x[i], levels[i]);
    }
    if (step == 0 || (fit.square > 0 && fit.cross * fit.cross > best * fit.square)) {
      scale = fit.scale(1 / inverse);
      best = scale * fit.cross;
      store_codes(n, levels, nmax, codes);
    }
  }
  return scale;
}

float descend_symmetric(int n, int nmax, const float* x, uint8_t* codes) noexcept {
  std::fill_n(codes, n, uint8_t{0});
  const float largest = signed_largest(n, x);
  if (std::fabs(largest) < kNoMagnitude) return 0;

  int levels[kMaxElements];
  float w[kMaxElements];
  Fit fit;
  const float inverse = -static_cast<float>(nmax) / largest;
  for (int i = 0; i < n; ++i) {
    w[i] = x[i] * x[i];
    levels[i] = nearest(inverse * x[i], -nmax, nmax - 1);
    fit.add(w[i], x[i], levels[i]);
  }
  descend(n, -nmax, nmax - 1, x, w, levels, fit);
  store_codes(n, levels, nmax, codes);
  return fit.scale(1 / inverse);
}

ScaleOffset search_with_offset(int n, int nmax, const float* x, const float* w, const OffsetSearch& options,
                               uint8_t* codes) noexcept {
  const Range range = range_of(n, x);
  const float max = range.max;
  float min = range.min;
  if (min > 0) min = 0;  // the format subtracts its offset, so it cannot lift everything above zero
  std::fill_n(codes, n, uint8_t{0});
  if (std::isnan(max)) return {max, max};
  if (max == min) return {0, -min};

  float sum_w = 0;
  float sum_wx = 0;
  for (int i = 0; i < n; ++i) {
    sum_w += w[i];
    sum_wx += w[i] * x[i];
  }

  // Codes stay floats until the end: rounding and error then run over whole vectors, only the sums one by one.
  float best_codes[kMaxElements], candidate[kMaxElements], weighted[kMaxElements];
  const auto round_codes = [&](float inverse, float* l) {
    for (int i = 0; i < n; ++i) l[i] = nearest_float(inverse * (x[i] - min), 0, nmax);
  };
  const auto error_of = [&](float scale, float low, const float* l) {
    for (int i = 0; i < n; ++i) {
      const float difference = scale * l[i] + low - x[i];
      weighted[i] = w[i] * (options.absolute ? std::fabs(difference) : difference * difference);
    }
    float error = 0;
    for (int i = 0; i < n; ++i) error += weighted[i];
    return error;
  };

  float inverse = static_cast<float>(nmax) / (max - min);
  float scale = 1 / inverse;
  round_codes(inverse, best_codes);
  float best = error_of(scale, min, best_codes);

  for (int k = 0; k <= options.steps; ++k) {
    inverse = (options.first + options.step * static_cast<float>(k) + static_cast<float>(nmax)) / (max - min);
    round_codes(inverse, candidate);
    float sum_l = 0;
    float sum_l2 = 0;
    float sum_xl = 0;
    for (int i = 0; i < n; ++i) {
      const float l = candidate[i];
      sum_l += w[i] * l;
      sum_l2 += w[i] * l * l;
      sum_xl += w[i] * l * x[i];
    }
    const float determinant = sum_w * sum_l2 - sum_l * sum_l;
    if (!(determinant > 0)) continue;
    float this_scale = (sum_w * sum_xl - sum_wx * sum_l) / determinant;
    float this_min = (sum_l2 * sum_wx - sum_l * sum_xl) / determinant;
    if (this_min > 0) {
      this_min = 0;
      this_scale = sum_xl / sum_l2;
    }
    const float error = error_of(this_scale, this_min, candidate);
    if (error < best) {
      std::copy_n(candidate, n, best_codes);
      best = error;
      scale = this_scale;
      min = this_min;
    }
  }
  for (int i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(best_codes[i]);
  return {scale, -min};
}

float search_positive(int n, int nmax, const float* x, const float* w, uint8_t* codes) noexcept {
  std::fill_n(codes, n, uint8_t{0});
  const float max = range_of(n, x).max;
  if (std::isnan(max)) return max;
  if (max < kNoMagnitude) return 0;

  float inverse = static_cast<float>(nmax) / max;
  float best = 0;
  for (int step : {0, -4, -3, -2, -1, 1, 2, 3, 4}) {
    const float candidate = (0.1f * static_cast<float>(step) + static_cast<float>(nmax)) / max;
    const float scale = 1 / candidate;
    float error = 0;
    for (int i = 0; i < n; ++i) {
      const float difference = x[i] - scale * static_cast<float>(nearest(candidate * x[i], 0, nmax));
      error += w[i] * difference * difference;
    }
    if (step == 0 || error < best) {
      best = error;
      inverse = candidate;
    }
  }

  int levels[kMaxElements];
  Fit fit;
  for (int i = 0; i < n; ++i) {
    levels[i] = nearest(inverse * x[i], 0, nmax);
    fit.add(w[i], x[i], levels[i]);
  }
  descend(n, 0, nmax, x, w, levels, fit);
  store_codes(n, levels, 0, codes);
  return fit.scale(1 / inverse);
}

}  // namespace ingle
