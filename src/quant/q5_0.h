// Q5_0: 32 signed 5-bit numbers with one scale. y = d * (q - 16).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ5_0 {
  static constexpr int64_t kElements = 32;
  uint16_t d;      // f16
  uint8_t qh[4];   // fifth bits: bit j % 8 of byte j / 8 belongs to element j
  uint8_t qs[16];  // low four bits, byte j: element j in the low half, element j + 16 in the high half
};
static_assert(sizeof(BlockQ5_0) == 22 && alignof(BlockQ5_0) == 2);

void decode_q5_0(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q5_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
