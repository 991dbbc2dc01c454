// binary16 and bfloat16 <-> binary32 in plain integer code: the definition every vector path is compared with.
// Both directions are exact or round to nearest even; NaN stays a quiet NaN; subnormals are kept.
// Always inlined: files built for one instruction set include this and must not leave a copy for others to link.
#pragma once

#include <cstdint>

namespace ingle {

[[gnu::always_inline]] inline float f16_to_f32(uint16_t h) noexcept {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t exponent = (h >> 10) & 31;
  const uint32_t mantissa = h & 0x3ff;
  if (exponent == 31)
    return __builtin_bit_cast(float, sign | 0x7f800000 | (mantissa << 13) | (mantissa != 0 ? 0x400000u : 0u));
  if (exponent != 0) return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero and subnormals
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint32_t, magnitude));
}

[[gnu::always_inline]] inline uint16_t f32_to_f16(float f) noexcept {
  const uint32_t bits = __builtin_bit_cast(uint32_t, f);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | static_cast<uint16_t>((magnitude >> 13) & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to infinity from 65520 on
  if (magnitude < 0x38800000) {                       // below 2^-14: let the float adder round to a multiple of 2^-24
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(__builtin_bit_cast(uint32_t, shifted) - 0x3f000000);
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded >> 13) - (112 << 10));
}

[[gnu::always_inline]] inline float bf16_to_f32(uint16_t h) noexcept {
  return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16);
}

[[gnu::always_inline]] inline uint16_t f32_to_bf16(float f) noexcept {
  const uint32_t bits = __builtin_bit_cast(uint32_t, f);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 64);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace ingle
