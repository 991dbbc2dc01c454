// Q6_K: 256 signed 6-bit numbers; each 16 share a signed byte as scale. y = d * scale * (q - 32).
//
// Element 128 * half + 32 * quarter + l, l < 32:
//   low four bits: ql[64 * half + 32 * (quarter % 2) + l], low half of the byte for quarters 0 and 1, high half for 2
//   and 3 high two bits: bit 2 * quarter of qh[32 * half + l]
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ6_K {
  static constexpr int64_t kElements = 256;
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;  // f16
};
static_assert(sizeof(BlockQ6_K) == 210 && alignof(BlockQ6_K) == 2);

void decode_q6_k(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q6_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
