// The part of encoding that Q4_K and Q5_K share: eight sub-blocks of 32 unsigned codes with scales and minima of six
// bits.
#pragma once

#include <cstdint>

#include "quant/search.h"

namespace ingle {

// What both formats store besides the codes.
struct OffsetBlock {
  uint16_t d, dmin;    // f16
  uint8_t scales[12];  // quant/k_scales.h
  uint8_t codes[256];  // 0 .. nmax
};

// plain: the candidates tried when there is no importance (nullptr).
OffsetBlock encode_offset_block(int nmax, const OffsetSearch& plain, const float* x, const float* importance) noexcept;

}  // namespace ingle
