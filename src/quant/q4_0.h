// Q4_0: 32 signed 4-bit numbers with one scale. y = d * (q - 8).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ4_0 {
  static constexpr int64_t kElements = 32;
  uint16_t d;      // f16
  uint8_t qs[16];  // byte j: element j in the low half, element j + 16 in the high half
};
static_assert(sizeof(BlockQ4_0) == 18 && alignof(BlockQ4_0) == 2);

void decode_q4_0(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q4_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
