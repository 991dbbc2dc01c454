#include "quant/q3_k.h"

#include <cmath>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

namespace {

int scale_of(const BlockQ3_K& b, int j) noexcept {
  const int low = j < 8 ? lo(b.scales[j]) : hi(b.scales[j - 8]);
  const int high = (b.scales[8 + j % 4] >> (2 * (j / 4))) & 3;
  return (low | high << 4) - 32;
}

// code is scale + 32. Every scale is written once, into bytes that start as zeros.
void set_scale(BlockQ3_K& b, int j, int code) noexcept {
  b.scales[j % 8] |= static_cast<uint8_t>((code & 15) << (j < 8 ? 0 : 4));
  b.scales[8 + j % 4] |= static_cast<uint8_t>((code >> 4) << (2 * (j / 4)));
}

void encode_block(const float* x, const float* importance, BlockQ3_K& b) noexcept {
  uint8_t q[256];
  float scales[16], weights[16];
  const float variance = 2 * sum_of_squares(256, x) / 256;
  for (int j = 0; j < 16; ++j) {
    const float* xj = x + 16 * j;
    if (importance != nullptr) {
      float w[16];
      weigh(16, importance + 16 * j, variance, xj, w);
      weights[j] = 0;
      for (int i = 0; i < 16; ++i) weights[j] += w[i];
      scales[j] = search_symmetric(16, 4, xj, w, q + 16 * j);
    } else {
      scales[j] = descend_symmetric(16, 4, xj, q + 16 * j);
    }
  }

  if (importance != nullptr) {
    uint8_t codes[16];
    b.d = f32_to_f16(search_symmetric(16, 32, scales, weights, codes));
    for (int j = 0; j < 16; ++j) set_scale(b, j, codes[j]);
  } else if (const float largest = signed_largest(16, scales); largest != 0) {
    const float inverse = -32 / largest;
    b.d = f32_to_f16(1 / inverse);
    for (int j = 0; j < 16; ++j) set_scale(b, j, nearest(inverse * scales[j], -32, 31) + 32);
  }

  for (int j = 0; j < 16; ++j) {
    const float d = f16_to_f32(b.d) * static_cast<float>(scale_of(b, j));
    if (d == 0) continue;
    for (int i = 16 * j; i < 16 * j + 16; ++i) q[i] = static_cast<uint8_t>(nearest(x[i] / d, -4, 3) + 4);
  }
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, plane = i % 128 / 32, l = i % 32;
    b.qs[32 * half + l] |= static_cast<uint8_t>((q[i] & 3) << (2 * plane));
    b.hmask[l] |= static_cast<uint8_t>((q[i] >> 2) << (4 * half + plane));
  }
}

}  // namespace

void decode_q3_k(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ3_K>(src, dst, n, [](const BlockQ3_K& b, float* y) {
    for (int j = 0; j < 16; ++j) {
      const float d = f16_to_f32(b.d) * static_cast<float>(scale_of(b, j));
      const int half = j / 8, plane = j % 8 / 2, l = j % 2 * 16;
      for (int i = 0; i < 16; ++i) {
        const int low = (b.qs[32 * half + l + i] >> (2 * plane)) & 3;
        const int high = (b.hmask[l + i] >> (4 * half + plane)) & 1;
        y[16 * j + i] = d * static_cast<float>((low | high << 2) - 4);
      }
    }
  });
}

void encode_q3_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ3_K>(src, dst, n, importance, encode_block);
}

Format q3_k_format() { return block_format<BlockQ3_K>(DType::kQ3_K, "Q3_K", decode_q3_k, encode_q3_k); }

}  // namespace ingle
