// Q8_K: 256 signed bytes with one scale and the sum of every 16; an activation format, never found in a file. y = d *
// q.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ8_K {
  static constexpr int64_t kElements = 256;
  float d;
  int8_t qs[256];
  int16_t bsums[16];  // bsums[g]: sum of qs[16 * g] .. qs[16 * g + 15], what a sub-block's minimum is multiplied by
};
static_assert(sizeof(BlockQ8_K) == 292 && alignof(BlockQ8_K) == 4);

void decode_q8_k(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q8_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
