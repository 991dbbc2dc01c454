// Q1_0, Q2_0: one and two bits an element with one scale a block and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

// y = d where the bit is set, -d where it is not.
struct BlockQ1_0 {
  static constexpr int64_t kElements = 128;
  uint16_t d;      // f16
  uint8_t qs[16];  // bit j % 8 of byte j / 8 is element j
};
static_assert(sizeof(BlockQ1_0) == 18 && alignof(BlockQ1_0) == 2);

// y = d * (q - 1): -d, 0, d, 2d.
struct BlockQ2_0 {
  static constexpr int64_t kElements = 64;
  uint16_t d;      // f16
  uint8_t qs[16];  // element j at bit 2 * (j % 4) of byte j / 4
};
static_assert(sizeof(BlockQ2_0) == 18 && alignof(BlockQ2_0) == 2);

void encode_q1_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_q2_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
