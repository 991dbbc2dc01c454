// Block formats: how rows of numbers lie in a GGUF file, and the exact scalar code that reads and writes them.
// specs: GGML tensor types. A row holds n elements, n % block_elements == 0, blocks in order, no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "quant/codes.h"
#include "quant/dtype.h"

namespace ingle {

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
  // Elements 32 * group .. 32 * group + 31 of the block at `block`, which is aligned to 2. nullptr: kernels take the
  // format apart themselves, or it has no scales.
  void (*codes)(const std::byte* block, int group, Codes& codes) noexcept = nullptr;

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
