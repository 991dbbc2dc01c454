// The twelve bytes in which Q4_K and Q5_K keep eight 6-bit scales and eight 6-bit minima.
//
//   byte 0..3    scale j in bits 0-5, high two bits of scale j + 4 in bits 6-7
//   byte 4..7    min j in bits 0-5, high two bits of min j + 4 in bits 6-7
//   byte 8..11   low four bits of scale j + 4 in the low half, of min j + 4 in the high half      (j = 0..3)
//
// Always inlined: files built for one instruction set may include this and must not leave a copy for others to link.
#pragma once

#include <cstdint>

namespace ingle {

struct ScaleMin {
  int scale, min;
};

[[gnu::always_inline]] inline ScaleMin unpack_scale_min(const uint8_t bytes[12], int j) noexcept {
  if (j < 4) return {bytes[j] & 63, bytes[j + 4] & 63};
  return {(bytes[j + 4] & 15) | (bytes[j - 4] >> 6) << 4, (bytes[j + 4] >> 4) | (bytes[j] >> 6) << 4};
}

// Every pair is written once, into bytes that start as zeros.
[[gnu::always_inline]] inline void pack_scale_min(uint8_t bytes[12], int j, ScaleMin v) noexcept {
  if (j < 4) {
    bytes[j] |= static_cast<uint8_t>(v.scale);
    bytes[j + 4] |= static_cast<uint8_t>(v.min);
  } else {
    bytes[j + 4] = static_cast<uint8_t>((v.scale & 15) | (v.min & 15) << 4);
    bytes[j - 4] |= static_cast<uint8_t>((v.scale >> 4) << 6);
    bytes[j] |= static_cast<uint8_t>((v.min >> 4) << 6);
  }
}

}  // namespace ingle
