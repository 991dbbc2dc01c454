// IQ2_XXS, IQ2_XS, IQ2_S: magnitudes come eight at a time from a codebook, signs lie beside them. y = +-db * level with
// db = d * (0.5 + scale) * 0.25. They differ in the size of the codebook, in how many elements share a scale, and in
// whether signs are stored in full or as seven bits whose parity gives the eighth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

// Group g of 32 elements is qs[4 * g .. 4 * g + 3], read as two 32-bit words a, b: byte l of a is the codebook index of
// eight elements, bits 7 * l .. 7 * l + 6 of b their sign index, bits 28-31 of b the scale of the group.
struct BlockIQ2_XXS {
  static constexpr int64_t kElements = 256;
  uint16_t d;  // f16
  uint16_t qs[32];
};
static_assert(sizeof(BlockIQ2_XXS) == 66 && alignof(BlockIQ2_XXS) == 2);

struct BlockIQ2_XS {
  static constexpr int64_t kElements = 256;
  uint16_t d;         // f16
  uint16_t qs[32];    // eight elements each: codebook index in bits 0-8, sign index in bits 9-15
  uint8_t scales[8];  // group g of 32: low half for its first 16 elements, high half for the rest
};
static_assert(sizeof(BlockIQ2_XS) == 74 && alignof(BlockIQ2_XS) == 2);

struct BlockIQ2_S {
  static constexpr int64_t kElements = 256;
  uint16_t d;         // f16
  uint8_t qs[32];     // low eight bits of the codebook index of eight elements
  uint8_t signs[32];  // bit j: element j is negative
  uint8_t qh[8];      // group g of 32: two high bits of index l at bit 2 * l
  uint8_t scales[8];  // as in IQ2_XS
};
static_assert(sizeof(BlockIQ2_S) == 82 && alignof(BlockIQ2_S) == 2);

void encode_iq2_xxs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_iq2_xs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_iq2_s(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
