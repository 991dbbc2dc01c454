// IQ1_S, IQ1_M: eight values out of -1, 0, 1 at a time from a codebook, all moved by an eighth up or down.
// y = d * (2 * scale + 1) * (level + delta), delta = +-0.125.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockIQ1_S {
  static constexpr int64_t kElements = 256;
  uint16_t d;      // f16
  uint8_t qs[32];  // low eight bits of the codebook index of eight elements
  uint16_t
      qh[8];  // group g of 32: three high bits of index l at bit 3 * l, scale in bits 12-14, bit 15: delta is negative
};
static_assert(sizeof(BlockIQ1_S) == 50 && alignof(BlockIQ1_S) == 2);

struct BlockIQ1_M {
  static constexpr int64_t kElements = 256;
  uint8_t qs[32];  // low eight bits of the codebook index of eight elements
  uint8_t qh[16];  // half byte i belongs to qs[i]: three high bits of the index, then 8: delta is negative
  // Four 16-bit words. Bits 3 * k .. 3 * k + 2 of word i: scale of sub-block 4 * i + k of 16 elements.
  // Bits 12-15 of word i: bits 4 * i .. 4 * i + 3 of d, an f16.
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ1_M) == 56 && alignof(BlockIQ1_M) == 1);

void encode_iq1_s(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_iq1_m(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
