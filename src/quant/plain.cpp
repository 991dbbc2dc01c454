#include "quant/plain.h"

#include <cstring>
#include <limits>

#include "base/half.h"
#include "quant/block_io.h"

namespace ingle {

namespace {

template <class Element, class Convert>
void decode_elements(const std::byte* src, float* dst, int64_t n, Convert convert) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    Element e;
    std::memcpy(&e, src + static_cast<size_t>(i) * sizeof(Element), sizeof(Element));
    dst[i] = convert(e);
  }
}

template <class Element, class Convert>
void encode_elements(const float* src, std::byte* dst, int64_t n, Convert convert) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    const Element e = convert(src[i]);
    std::memcpy(dst + static_cast<size_t>(i) * sizeof(Element), &e, sizeof(Element));
  }
}

// A double beyond the range of float has no defined conversion unless float has infinities, which IEC 559 grants.
static_assert(std::numeric_limits<float>::is_iec559);
template <class Element>
float to_float(Element e) noexcept {
  return static_cast<float>(e);
}

}  // namespace

void decode_f32(const std::byte* src, float* dst, int64_t n) noexcept {
  if (n > 0) std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));  // an empty row may be nowhere
}

void decode_f16(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_elements<uint16_t>(src, dst, n, f16_to_f32);
}

void decode_bf16(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_elements<uint16_t>(src, dst, n, bf16_to_f32);
}

void decode_f64(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_elements<double>(src, dst, n, to_float<double>);
}

void decode_i8(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_elements<int8_t>(src, dst, n, to_float<int8_t>);
}

void decode_i16(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_elements<int16_t>(src, dst, n, to_float<int16_t>);
}

void decode_i32(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_elements<int32_t>(src, dst, n, to_float<int32_t>);
}

void decode_i64(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_elements<int64_t>(src, dst, n, to_float<int64_t>);
}

void encode_f32(const float* src, std::byte* dst, int64_t n, const float*) noexcept {
  if (n > 0) std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));  // an empty row may be nowhere
}

void encode_f16(const float* src, std::byte* dst, int64_t n, const float*) noexcept {
  encode_elements<uint16_t>(src, dst, n, f32_to_f16);
}

void encode_bf16(const float* src, std::byte* dst, int64_t n, const float*) noexcept {
  encode_elements<uint16_t>(src, dst, n, f32_to_bf16);
}

Format f32_format() { return {DType::kF32, "F32", 1, 4, decode_f32, encode_f32}; }
Format f16_format() { return {DType::kF16, "F16", 1, 2, decode_f16, encode_f16}; }
Format i8_format() { return {DType::kI8, "I8", 1, 1, decode_i8, nullptr}; }
Format i16_format() { return {DType::kI16, "I16", 1, 2, decode_i16, nullptr}; }
Format i32_format() { return {DType::kI32, "I32", 1, 4, decode_i32, nullptr}; }
Format i64_format() { return {DType::kI64, "I64", 1, 8, decode_i64, nullptr}; }
Format f64_format() { return {DType::kF64, "F64", 1, 8, decode_f64, nullptr}; }
Format bf16_format() { return {DType::kBF16, "BF16", 1, 2, decode_bf16, encode_bf16}; }

}  // namespace ingle
