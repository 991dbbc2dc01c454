// Q4_K: 256 unsigned 4-bit numbers; each 32 share a 6-bit scale and a 6-bit minimum. y = d * scale * q - dmin * min.
//
// Byte qs[32 * c + l] holds element 64 * c + l in its low half and element 64 * c + 32 + l in its high half.
// How scales and minima share twelve bytes: quant/k_scales.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ4_K {
  static constexpr int64_t kElements = 256;
  uint16_t d;     // f16
  uint16_t dmin;  // f16
  uint8_t scales[12];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144 && alignof(BlockQ4_K) == 2);

void decode_q4_k(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q4_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
