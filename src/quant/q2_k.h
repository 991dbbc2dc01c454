// Q2_K: 256 unsigned 2-bit numbers; each 16 share a 4-bit scale and a 4-bit minimum. y = d * scale * q - dmin * min.
//
// Element 128 * half + 32 * plane + l lies in bits 2 * plane and 2 * plane + 1 of qs[32 * half + l];
// its sub-block is 8 * half + 2 * plane + l / 16, that is, element / 16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ2_K {
  static constexpr int64_t kElements = 256;
  uint8_t scales[16];  // low half: scale, high half: min
  uint8_t qs[64];
  uint16_t d;     // f16
  uint16_t dmin;  // f16
};
static_assert(sizeof(BlockQ2_K) == 84 && alignof(BlockQ2_K) == 2);

void decode_q2_k(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q2_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
