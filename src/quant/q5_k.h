// Q5_K: 256 unsigned 5-bit numbers; each 32 share a 6-bit scale and a 6-bit minimum. y = d * scale * q - dmin * min.
//
// Low four bits as in Q4_K; the fifth bit of element l of sub-block k is bit k of qh[l].
// How scales and minima share twelve bytes: quant/k_scales.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

struct BlockQ5_K {
  static constexpr int64_t kElements = 256;
  uint16_t d;     // f16
  uint16_t dmin;  // f16
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176 && alignof(BlockQ5_K) == 2);

void decode_q5_k(const std::byte* src, float* dst, int64_t n) noexcept;
void encode_q5_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
