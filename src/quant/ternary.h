// TQ1_0, TQ2_0: 256 numbers out of -1, 0, 1 with one scale, for models trained that way. y = d * (digit - 1).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

// Five base-3 digits a byte. A byte v stands for the fraction v / 256: multiplied by 3, what carries out of eight bits
// is the first digit, and so on, so digit n is ((v * 3^n mod 256) * 3) >> 8.
//   qs[m], m < 32            digit n -> element 32 * n + m
//   qs[32 + m], m < 16       digit n -> element 160 + 16 * n + m
//   qh[j], j < 4             digit n -> element 240 + 4 * n + j, four digits only
struct BlockTQ1_0 {
  static constexpr int64_t kElements = 256;
  uint8_t qs[48];
  uint8_t qh[4];
  uint16_t d;  // f16
};
static_assert(sizeof(BlockTQ1_0) == 54 && alignof(BlockTQ1_0) == 2);

// Two bits a digit: element 128 * half + 32 * plane + l at bit 2 * plane of qs[32 * half + l]. Digit 3 decodes to 2 *
// d.
struct BlockTQ2_0 {
  static constexpr int64_t kElements = 256;
  uint8_t qs[64];
  uint16_t d;  // f16
};
static_assert(sizeof(BlockTQ2_0) == 66 && alignof(BlockTQ2_0) == 2);

void encode_tq1_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_tq2_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
