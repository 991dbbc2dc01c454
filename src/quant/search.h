// Searches the encoders share: given x and weights w, find the scale (and minimum) whose grid of codes lies closest to
// x.
//
// All of them walk a short list of candidate scales, round x to codes under each, and keep the best by a weighted
// criterion. Sums run from the first element to the last in float, because the order decides the last bit and published
// files were made in that order.
#pragma once

#include <cstdint>

namespace ingle {

// Blocks smaller than this are stored as zero.
inline constexpr float kNoMagnitude = 1e-15f;

// x ~ scale * (code - nmax), codes 0 .. 2 * nmax - 1. Maximises (sum w x l)^2 / (sum w l^2) over scales around the one
// that maps the largest |x| to -nmax. Returns the scale; 0 with all codes 0 when there is nothing in x.
float search_symmetric(int n, int nmax, const float* x, const float* w, uint8_t* codes) noexcept;

// The same model with w = x^2, from one starting scale refined by moving one code at a time.
float descend_symmetric(int n, int nmax, const float* x, uint8_t* codes) noexcept;

// x ~ scale * code - offset, codes 0 .. nmax, offset >= 0. For k = 0 .. steps the inverse scale
// (first + step * k + nmax) / range is tried, codes are counted from the best offset so far, and scale and offset are
// then solved for by least squares. absolute: keep the smallest sum of w |error|, else of w error^2.
struct OffsetSearch {
  float first, step;
  int steps;
  bool absolute;
};
struct ScaleOffset {
  float scale, offset;
};
ScaleOffset search_with_offset(int n, int nmax, const float* x, const float* w, const OffsetSearch& options,
                               uint8_t* codes) noexcept;

// x ~ scale * code, x >= 0, codes 0 .. nmax: for scales and offsets of sub-blocks.
float search_positive(int n, int nmax, const float* x, const float* w, uint8_t* codes) noexcept;

// Importance alone would neglect large elements of unimportant columns: w = importance * sqrt(variance + x^2).
void weigh(int n, const float* importance, float variance, const float* x, float* w) noexcept;

// sum of x^2.
float sum_of_squares(int64_t n, const float* x) noexcept;

// The x with the largest magnitude, sign kept, the first of equals. NaN if there is a NaN, as in range_of: it has to
// reach the scale of the block, where a reader sees it.
float signed_largest(int n, const float* x) noexcept;

struct Range {
  float min, max;
};
Range range_of(int n, const float* x) noexcept;

}  // namespace ingle
