#include "quant/k_offset.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/k_scales.h"

namespace ingle {

namespace {

// Six bits for each scale or offset, spaced evenly up to the largest. Returns the step.
float quantise_linearly(const float* values, uint8_t* codes) noexcept {
  const float max = range_of(8, values).max;
  std::fill_n(codes, 8, uint8_t{0});
  if (max <= 0) return 0;
  const float inverse = 63 / max;
  for (int j = 0; j < 8; ++j) codes[j] = static_cast<uint8_t>(nearest(inverse * values[j], 0, 63));
  return max / 63;
}

}  // namespace

OffsetBlock encode_offset_block(int nmax, const OffsetSearch& plain, const float* x, const float* importance) noexcept {
  OffsetBlock b{};
  float scales[8], offsets[8], weights[8];
  const float variance = 2 * sum_of_squares(256, x) / 256;
  for (int j = 0; j < 8; ++j) {
    const float* xj = x + 32 * j;
    float w[32];
    ScaleOffset found;
    if (importance != nullptr) {
      weigh(32, importance + 32 * j, variance, xj, w);
      found = search_with_offset(32, nmax, xj, w, {-0.9f, 0.05f, 36, false}, b.codes + 32 * j);
    } else {
      const float typical = std::sqrt(sum_of_squares(32, xj) / 32);
      for (int i = 0; i < 32; ++i) w[i] = typical + std::fabs(xj[i]);
      found = search_with_offset(32, nmax, xj, w, plain, b.codes + 32 * j);
    }
    weights[j] = 0;
    for (int i = 0; i < 32; ++i) weights[j] += w[i];
    scales[j] = found.scale;
    offsets[j] = found.offset;
  }

  uint8_t scale_codes[8], offset_codes[8];
  if (importance != nullptr) {
    b.d = f32_to_f16(search_positive(8, 63, scales, weights, scale_codes));
    b.dmin = f32_to_f16(search_positive(8, 63, offsets, weights, offset_codes));
  } else {
    b.d = f32_to_f16(quantise_linearly(scales, scale_codes));
    b.dmin = f32_to_f16(quantise_linearly(offsets, offset_codes));
  }

  for (int j = 0; j < 8; ++j) {
    pack_scale_min(b.scales, j, {scale_codes[j], offset_codes[j]});
    const float d = f16_to_f32(b.d) * static_cast<float>(scale_codes[j]);
    if (d == 0) continue;
    const float m = f16_to_f32(b.dmin) * static_cast<float>(offset_codes[j]);
    for (int i = 32 * j; i < 32 * j + 32; ++i) b.codes[i] = static_cast<uint8_t>(nearest((x[i] + m) / d, 0, nmax));
  }
  return b;
}

}  // namespace ingle
