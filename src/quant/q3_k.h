// Q3_K: 256 signed 3-bit numbers; each 16 share a signed 6-bit scale. y = d * (scale - 32) * (q - 4).
//
// Element 128 * half + 32 * plane + l: low two bits at bit 2 * plane of qs[32 * half + l], third bit at bit
// 4 * half + plane of hmask[l].
// Scale b: low four bits in the low (b < 8) or high half of scales[b % 8], two more at bit 2 * (b / 4) of scales[8 + b
// % 4].
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ3_K {
  static constexpr int64_t kElements = 256;
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;  // f16
};
static_assert(sizeof(BlockQ3_K) == 110 && alignof(BlockQ3_K) == 2);

void decode_q3_k(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q3_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
