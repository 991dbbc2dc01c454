#include "quant/q2_k.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

namespace {

// Four bits for each scale or offset, spaced evenly up to the largest. Returns the step.
float quantise_linearly(const float* values, uint8_t* codes) noexcept {
  const float max = range_of(16, values).max;
  std::fill_n(codes, 16, uint8_t{0});
  if (max <= 0) return 0;
  const float inverse = 15 / max;
  for (int j = 0; j < 16; ++j) codes[j] = static_cast<uint8_t>(nearest(inverse * values[j], 0, 15));
  return max / 15;
}

void encode_block(const float* x, const float* importance, BlockQ2_K& b) noexcept {
  uint8_t q[256];
  float scales[16], offsets[16], weights[16];
  const float variance = sum_of_squares(256, x) / 256;
  for (int j = 0; j < 16; ++j) {
    const float* xj = x + 16 * j;
    float w[16];
    ScaleOffset found;
    if (importance != nullptr) {
      weigh(16, importance + 16 * j, variance, xj, w);
      found = search_with_offset(16, 3, xj, w, {-0.9f, 0.05f, 36, false}, q + 16 * j);
    } else {
      for (int i = 0; i < 16; ++i) w[i] = std::fabs(xj[i]);
      found = search_with_offset(16, 3, xj, w, {-0.5f, 0.1f, 15, true}, q + 16 * j);
    }
    weights[j] = 0;
    for (int i = 0; i < 16; ++i) weights[j] += w[i];
    scales[j] = found.scale;
    offsets[j] = found.offset;
  }

  uint8_t scale_codes[16], offset_codes[16];
  if (importance != nullptr) {
    b.d = f32_to_f16(search_positive(16, 15, scales, weights, scale_codes));
    b.dmin = f32_to_f16(search_positive(16, 15, offsets, weights, offset_codes));
  } else {
    b.d = f32_to_f16(quantise_linearly(scales, scale_codes));
    b.dmin = f32_to_f16(quantise_linearly(offsets, offset_codes));
  }

  for (int j = 0; j < 16; ++j) {
    b.scales[j] = static_cast<uint8_t>(scale_codes[j] | offset_codes[j] << 4);
    const float d = f16_to_f32(b.d) * static_cast<float>(scale_codes[j]);
    if (d == 0) continue;
    const float m = f16_to_f32(b.dmin) * static_cast<float>(offset_codes[j]);
    for (int i = 16 * j; i < 16 * j + 16; ++i) q[i] = static_cast<uint8_t>(nearest((x[i] + m) / d, 0, 3));
  }
  for (int i = 0; i < 256; ++i) b.qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>(q[i] << (2 * (i % 128 / 32)));
}

}  // namespace

void decode_q2_k(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ2_K>(src, dst, n, [](const BlockQ2_K& b, float* y) {
    for (int j = 0; j < 16; ++j) {
      const float d = f16_to_f32(b.d) * static_cast<float>(lo(b.scales[j]));
      const float m = f16_to_f32(b.dmin) * static_cast<float>(hi(b.scales[j]));
      const int plane = j % 8 / 2;
      const uint8_t* qs = b.qs + 32 * (j / 8) + j % 2 * 16;
      for (int i = 0; i < 16; ++i) y[16 * j + i] = d * static_cast<float>((qs[i] >> (2 * plane)) & 3) - m;
    }
  });
}

void encode_q2_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ2_K>(src, dst, n, importance, encode_block);
}

Format q2_k_format() { return block_format<BlockQ2_K>(DType::kQ2_K, "Q2_K", decode_q2_k, encode_q2_k); }

}  // namespace ingle
