// Shapes and views. No arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "quant/format.h"

namespace ingle {

// Row-major extents, outermost first, at most four; the last dimension is contiguous. (GGUF lists them the other way.)
struct Shape {
  std::array<int64_t, 4> extent{1, 1, 1, 1};
  int rank = 0;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    for (int64_t e : extents) extent[static_cast<size_t>(rank++)] = e;
  }
  int64_t operator[](int i) const noexcept { return extent[static_cast<size_t>(i)]; }
  int64_t columns() const noexcept { return rank == 0 ? 1 : extent[static_cast<size_t>(rank - 1)]; }
  int64_t elements() const noexcept { return extent[0] * extent[1] * extent[2] * extent[3]; }
  int64_t rows() const noexcept { return columns() == 0 ? 0 : elements() / columns(); }
  bool operator==(const Shape& other) const noexcept = default;
};
std::string to_string(const Shape& shape);  // "[49152, 576]"

// Borrowed, read-only, in any block format: a weight in the mapped file.
struct ConstTensorView {
  const std::byte* data = nullptr;
  DType type = DType::kF32;
  Shape shape;

  size_t row_bytes() const noexcept { return format_of(type).row_bytes(shape.columns()); }
  size_t bytes() const noexcept { return row_bytes() * static_cast<size_t>(shape.rows()); }
  const std::byte* row(int64_t r) const noexcept { return data + row_bytes() * static_cast<size_t>(r); }
};

// An activation: f32 rows in a step's arena, valid until the step ends. A value to pass around; copying it copies no
// numbers. `memo` is the backend's: forms of the same numbers made once (int8 for a product) and shared by all copies.
struct Tensor {
  float* data = nullptr;
  Shape shape;  // [rows, columns] or [rows, heads, head_dim]
  void* memo = nullptr;

  int64_t rows() const noexcept { return shape[0]; }
  int64_t row_size() const noexcept { return shape[1] * shape[2] * shape[3]; }
  bool empty() const noexcept { return data == nullptr || shape[0] == 0; }
  float* row(int64_t r) const noexcept { return data + r * row_size(); }
};

}  // namespace ingle
