#include "quant/fp4.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

namespace {

// The code whose value is closest to x, the first of equals.
uint8_t nearest_code(float x, float half_scale) noexcept {
  int best = 0;
  float best_error = std::fabs(x);
  for (int code = 1; code < 16; ++code) {
    const float error = std::fabs(half_scale * static_cast<float>(kFp4DoubledLevels[code]) - x);
    if (error < best_error) {
      best_error = error;
      best = code;
    }
  }
  return static_cast<uint8_t>(best);
}

void read_nvfp4(const BlockNVFP4& b, int group, Codes& c) noexcept {
  for (int half = 0; half < 2; ++half) {
    const int s = 2 * group + half;
    c.scale[half] = 0.5f * nvfp4_scale(b.d[s]);
    for (int j = 0; j < 8; ++j) {
      c.q[16 * half + j] = kFp4DoubledLevels[lo(b.qs[8 * s + j])];
      c.q[16 * half + 8 + j] = kFp4DoubledLevels[hi(b.qs[8 * s + j])];
    }
  }
}

}  // namespace

float mxfp4_half_scale(uint8_t e) noexcept {
  // 2^(e - 128): below e = 2 the exponent field has run out and the subnormals take over.
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

float nvfp4_scale(uint8_t d) noexcept {
  if (d == 0 || d == 0x7f) return 0;
  const int exponent = (d >> 3) & 15;
  const float mantissa = static_cast<float>(d & 7);
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(1 + mantissa / 8, exponent - 7);
}

void decode_mxfp4(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockMXFP4>(src, dst, n, [](const BlockMXFP4& b, float* y) {
    const float d = mxfp4_half_scale(b.e);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>(kFp4DoubledLevels[lo(b.qs[j])]);
      y[j + 16] = d * static_cast<float>(kFp4DoubledLevels[hi(b.qs[j])]);
    }
  });
}

// The scale is set by the largest element alone, so importance plays no part.
void encode_mxfp4(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockMXFP4>(src, dst, n, importance, [](const float* x, const float*, BlockMXFP4& b) {
    const float largest = signed_largest(32, x);
    if (largest == 0) return;
    if (!std::isfinite(largest)) {  // not a number to the standard, infinite to our decoder
      b.e = 255;
      std::fill_n(b.qs, 16, uint8_t{0x77});
      return;
    }
    // The largest falls into [4, 8) scales; 6 is the last value there is.
    b.e = static_cast<uint8_t>(std::clamp(std::ilogb(largest), -125, 127) - 2 + 127);
    const float d = mxfp4_half_scale(b.e);
    for (int j = 0; j < 16; ++j)
      b.qs[j] = static_cast<uint8_t>(nearest_code(x[j], d) | nearest_code(x[j + 16], d) << 4);
  });
}

Format mxfp4_format() { return block_format<BlockMXFP4>(DType::kMXFP4, "MXFP4", decode_mxfp4, encode_mxfp4); }
Format nvfp4_format() { return coded_format<BlockNVFP4, read_nvfp4>(DType::kNVFP4, "NVFP4"); }

}  // namespace ingle
