// Q4_1: 32 unsigned 4-bit numbers with a scale and an offset. y = d * q + m.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ4_1 {
  static constexpr int64_t kElements = 32;
  uint16_t d;      // f16
  uint16_t m;      // f16, value of q == 0
  uint8_t qs[16];  // byte j: element j in the low half, element j + 16 in the high half
};
static_assert(sizeof(BlockQ4_1) == 20 && alignof(BlockQ4_1) == 2);

void decode_q4_1(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q4_1(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
