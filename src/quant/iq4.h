// IQ4_NL, IQ4_XS: 4-bit numbers that index a table of sixteen unevenly spaced levels, denser around zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

inline constexpr int8_t kIQ4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// y = d * level.
struct BlockIQ4_NL {
  static constexpr int64_t kElements = 32;
  uint16_t d;      // f16
  uint8_t qs[16];  // byte j: element j in the low half, element j + 16 in the high half
};
static_assert(sizeof(BlockIQ4_NL) == 18 && alignof(BlockIQ4_NL) == 2);

// y = d * (scale - 32) * level; each 32 share a 6-bit scale.
struct BlockIQ4_XS {
  static constexpr int64_t kElements = 256;
  uint16_t d;           // f16
  uint16_t scales_h;    // high two bits of scale g at bit 2 * g
  uint8_t scales_l[4];  // half byte g: low four bits of scale g, low half first
  uint8_t qs[128];      // 16 bytes a group of 32, each group as in IQ4_NL
};
static_assert(sizeof(BlockIQ4_XS) == 136 && alignof(BlockIQ4_XS) == 2);

void decode_iq4_nl(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_iq4_xs(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_iq4_nl(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_iq4_xs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
