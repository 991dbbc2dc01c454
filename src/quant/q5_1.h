// Q5_1: 32 unsigned 5-bit numbers with a scale and an offset. y = d * q + m.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ5_1 {
  static constexpr int64_t kElements = 32;
  uint16_t d;      // f16
  uint16_t m;      // f16, value of q == 0
  uint8_t qh[4];   // fifth bits: bit j % 8 of byte j / 8 belongs to element j
  uint8_t qs[16];  // low four bits, byte j: element j in the low half, element j + 16 in the high half
};
static_assert(sizeof(BlockQ5_1) == 24 && alignof(BlockQ5_1) == 2);

void decode_q5_1(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q5_1(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
