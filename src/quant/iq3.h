// IQ3_XXS, IQ3_S: magnitudes come four at a time from a codebook, signs lie beside them. y = +-db * level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

// db = d * (0.5 + scale) * 0.5.
struct BlockIQ3_XXS {
  static constexpr int64_t kElements = 256;
  uint16_t d;                // f16
  uint8_t qs[64];            // codebook index of four elements each
  uint8_t scales_signs[32];  // eight 32-bit words, one a group of 32: sign index l at bit 7 * l, scale in bits 28-31
};
static_assert(sizeof(BlockIQ3_XXS) == 98 && alignof(BlockIQ3_XXS) == 2);

// db = d * (1 + 2 * scale).
struct BlockIQ3_S {
  static constexpr int64_t kElements = 256;
  uint16_t d;         // f16
  uint8_t qs[64];     // low eight bits of the codebook index of four elements
  uint8_t qh[8];      // ninth bits: bit k of byte g belongs to qs[8 * g + k]
  uint8_t signs[32];  // bit j of byte i: element 8 * i + j is negative
  uint8_t scales[4];  // half byte g: scale of group g of 32, low half first
};
static_assert(sizeof(BlockIQ3_S) == 110 && alignof(BlockIQ3_S) == 2);

void encode_iq3_xxs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_iq3_s(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
