#include "quant/q6_k.h"

#include <cmath>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

namespace {

// Where element i lies: byte and shift of its low four and of its high two bits.
struct Place {
  int low_byte, low_shift, high_byte, high_shift;
};
Place place_of(int i) noexcept {
  const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
  return {64 * half + 32 * (quarter % 2) + l, 4 * (quarter / 2), 32 * half + l, 2 * quarter};
}

void encode_block(const float* x, const float* importance, BlockQ6_K& b) noexcept {
  uint8_t q[256];
  float scales[16];
  for (int j = 0; j < 16; ++j) {
    const float* xj = x + 16 * j;
    float squares[16];
    for (int i = 0; i < 16; ++i) squares[i] = xj[i] * xj[i];
    // Six bits are fine enough for importance to be taken as it is.
    scales[j] = search_symmetric(16, 32, xj, importance != nullptr ? importance + 16 * j : squares, q + 16 * j);
  }

  const float largest = signed_largest(16, scales);
  if (std::fabs(largest) < kNoMagnitude) return;
  const float inverse = -128 / largest;
  b.d = f32_to_f16(1 / inverse);
  for (int j = 0; j < 16; ++j) {
    b.scales[j] = static_cast<int8_t>(nearest(inverse * scales[j], -128, 127));
    const float d = f16_to_f32(b.d) * static_cast<float>(b.scales[j]);
    if (d == 0) continue;
    for (int i = 16 * j; i < 16 * j + 16; ++i) q[i] = static_cast<uint8_t>(nearest(x[i] / d, -32, 31) + 32);
  }
  for (int i = 0; i < 256; ++i) {
    const Place p = place_of(i);
    b.ql[p.low_byte] |= static_cast<uint8_t>((q[i] & 15) << p.low_shift);
    b.qh[p.high_byte] |= static_cast<uint8_t>((q[i] >> 4) << p.high_shift);
  }
}

}  // namespace

void decode_q6_k(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ6_K>(src, dst, n, [](const BlockQ6_K& b, float* y) {
    for (int j = 0; j < 16; ++j) {
      const float d = f16_to_f32(b.d) * static_cast<float>(b.scales[j]);
      const Place p = place_of(16 * j);  // the other fifteen follow in the next bytes
      for (int i = 0; i < 16; ++i) {
        const int low = (b.ql[p.low_byte + i] >> p.low_shift) & 15;
        const int high = (b.qh[p.high_byte + i] >> p.high_shift) & 3;
        y[16 * j + i] = d * static_cast<float>((low | high << 4) - 32);
      }
    }
  });
}

void encode_q6_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ6_K>(src, dst, n, importance, encode_block);
}

Format q6_k_format() { return block_format<BlockQ6_K>(DType::kQ6_K, "Q6_K", decode_q6_k, encode_q6_k); }

}  // namespace ingle
