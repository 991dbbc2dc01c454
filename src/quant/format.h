// Block formats: how rows of numbers lie in a GGUF file, and the exact scalar code that reads and writes them.
// specs: GGML tensor types. A row holds n elements, n % block_elements == 0, blocks in order, no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ingle {

// Values are the type ids in the file.
// clang-format off
enum class DType : uint32_t {
  kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_1 = 3, kQ5_0 = 6, kQ5_1 = 7, kQ8_0 = 8, kQ8_1 = 9,
  kQ2_K = 10, kQ3_K = 11, kQ4_K = 12, kQ5_K = 13, kQ6_K = 14, kQ8_K = 15,
  kIQ2_XXS = 16, kIQ2_XS = 17, kIQ3_XXS = 18, kIQ1_S = 19, kIQ4_NL = 20, kIQ3_S = 21, kIQ2_S = 22, kIQ4_XS = 23,
  kI8 = 24, kI16 = 25, kI32 = 26, kI64 = 27, kF64 = 28, kIQ1_M = 29, kBF16 = 30,
  kTQ1_0 = 34, kTQ2_0 = 35, kMXFP4 = 39, kNVFP4 = 40, kQ1_0 = 41, kQ2_0 = 42,
};
// clang-format on

struct Format {
  DType type;
  std::string_view name;  // "Q4_K"
  int64_t block_elements;
  size_t block_bytes;
  // Exact decode of n elements. src may be unaligned.
  void (*decode)(const std::byte* src, float* dst, int64_t n) noexcept;
  // Reference quantiser of one row of n elements; importance is nullptr or n weights (imatrix). nullptr: cannot be
  // written.
  void (*encode)(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept;

  size_t row_bytes(int64_t n) const noexcept { return static_cast<size_t>(n / block_elements) * block_bytes; }
};

// All known formats, in order of id.
std::span<const Format> formats() noexcept;
// nullptr when unknown (removed or fork-only ids too).
const Format* find_format(DType type) noexcept;
const Format* find_format(std::string_view name) noexcept;  // case-insensitive
// For a type already checked by the reader; throws Error{kInternal} otherwise.
const Format& format_of(DType type);
// Why an id is refused: "removed from the format", "only in the fork ik_llama.cpp (IQ4_K)", or "unknown".
std::string_view describe_unknown_type(uint32_t id) noexcept;

}  // namespace ingle
