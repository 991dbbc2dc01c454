// MXFP4, NVFP4: 4-bit floats (one sign, two exponent and one mantissa bit) that share a scale of eight bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

// Twice the value of each code, so that all are whole: 0, 0.5, 1, 1.5, 2, 3, 4, 6, then the same negative.
inline constexpr int8_t kFp4DoubledLevels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// y = 2^(e - 127) * value. e >= 253 can overflow to infinity; e == 255 is no number in the standard and reads as 2^128
// here.
struct BlockMXFP4 {
  static constexpr int64_t kElements = 32;
  uint8_t e;
  uint8_t qs[16];  // byte j: element j in the low half, element j + 16 in the high half
};
static_assert(sizeof(BlockMXFP4) == 17 && alignof(BlockMXFP4) == 1);

// y = scale * value; each 16 share a scale, an unsigned float of four exponent and three mantissa bits. The factor of
// the whole tensor is a tensor of its own and belongs to the product, not to the block.
struct BlockNVFP4 {
  static constexpr int64_t kElements = 64;
  uint8_t d[4];    // 0 and 127 are zero; the top bit is ignored otherwise
  uint8_t qs[32];  // byte 8 * s + j: element 16 * s + j in the low half, element 16 * s + 8 + j in the high half
};
static_assert(sizeof(BlockNVFP4) == 36 && alignof(BlockNVFP4) == 1);

// Half of 2^(e - 127), the factor of the doubled levels.
float mxfp4_half_scale(uint8_t e) noexcept;
float nvfp4_scale(uint8_t d) noexcept;

void decode_mxfp4(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_mxfp4(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
