// Types without blocks: one element after the other, as the machine stores it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

void decode_f32(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_f16(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_bf16(const std::byte* src, float* dst, int64_t n) noexcept;
// Rounded to the nearest float where a float cannot hold the value.
void decode_f64(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_i8(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_i16(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_i32(const std::byte* src, float* dst, int64_t n) noexcept;
void decode_i64(const std::byte* src, float* dst, int64_t n) noexcept;

// Importance plays no part: every element is rounded to nearest even on its own.
void encode_f32(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_f16(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;
void encode_bf16(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

}  // namespace ingle
