// Q8_0: 32 signed bytes with one scale, for weights, caches and activations. y = d * q.
// Q8_1: the same with the sum of the block beside it; an activation format, never found in a file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ8_0 {
  static constexpr int64_t kElements = 32;
  uint16_t d;  // f16
  int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34 && alignof(BlockQ8_0) == 2);

struct BlockQ8_1 {
  static constexpr int64_t kElements = 32;
  uint16_t d;  // f16
  uint16_t s;  // f16, d * sum of qs: what a weight format with an offset multiplies its offset by
  int8_t qs[32];
};
static_assert(sizeof(BlockQ8_1) == 36 && alignof(BlockQ8_1) == 2);

void decode_q8_0(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_q8_1(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q8_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
