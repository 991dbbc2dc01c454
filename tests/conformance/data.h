// Numbers to compute with: reproducible rows, and weights in every block format.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "quant/format.h"
#include "tensor/tensor.h"

namespace ingle::conformance {

// Roughly normal, deviation 1, the same on every platform (std::normal_distribution is not).
inline std::vector<float> random_floats(int64_t count, uint32_t seed, float deviation = 1.0f) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(generator()) / 4294967296.0 - 0.5;
    x = static_cast<float>(sum * 1.7320508) * deviation;
  }
  return values;
}

// Rows of activations as an operation takes them.
struct Rows {
  Rows(int64_t rows, int64_t columns, uint32_t seed, float deviation = 1.0f)
      : columns(columns), values(random_floats(rows * columns, seed, deviation)) {}
  Tensor tensor(int64_t rows) { return {.data = values.data(), .shape = {rows, columns}}; }
  Tensor tensor(int64_t rows, int64_t first) {
    return {.data = values.data() + first * columns, .shape = {rows, columns}};
  }
  const float* row(int64_t r) const { return values.data() + r * columns; }
  int64_t columns;
  std::vector<float> values;
};

// A weight matrix in a file's format. Formats that have an encoder are encoded; of the others, blocks of random bytes
// are drawn until every number in them is finite and of ordinary size.
struct Weights {
  Weights(DType type, int64_t rows, int64_t columns, uint32_t seed) : type(type), rows(rows), columns(columns) {
    const Format& format = format_of(type);
    bytes.resize(format.row_bytes(columns) * static_cast<size_t>(rows));
    decoded.resize(static_cast<size_t>(rows * columns));
    if (format.encode != nullptr) {
      const std::vector<float> values = random_floats(rows * columns, seed);
      for (int64_t r = 0; r < rows; ++r) {
        format.encode(values.data() + r * columns, bytes.data() + format.row_bytes(columns) * static_cast<size_t>(r),
                      columns, nullptr);
      }
    } else {
      draw_blocks(format, seed);
    }
    for (int64_t r = 0; r < rows; ++r) format.decode(view().row(r), decoded.data() + r * columns, columns);
  }
  ConstTensorView view() const { return {bytes.data(), type, {rows, columns}}; }
  const float* row(int64_t r) const { return decoded.data() + r * columns; }

  DType type;
  int64_t rows, columns;
  std::vector<std::byte> bytes;
  std::vector<float> decoded;

 private:
  void draw_blocks(const Format& format, uint32_t seed) {
    std::mt19937 generator(seed);
    std::vector<float> values(static_cast<size_t>(format.block_elements));
    for (size_t at = 0; at < bytes.size(); at += format.block_bytes) {
      float largest;
      do {
        for (size_t i = 0; i < format.block_bytes; ++i) bytes[at + i] = static_cast<std::byte>(generator() >> 24);
        format.decode(bytes.data() + at, values.data(), format.block_elements);
        largest = 0.0f;
        for (float x : values) largest = std::fabs(x) <= 8.0f ? std::fmax(largest, std::fabs(x)) : INFINITY;
      } while (!(largest >= 0.01f && largest <= 8.0f));
    }
  }
};

// Formats that weights of a model come in: all but whole numbers and doubles, which only small tables use.
inline std::vector<DType> weight_types() {
  std::vector<DType> types;
  for (const Format& format : formats()) {
    const bool table_only = format.type >= DType::kI8 && format.type <= DType::kF64;
    if (!table_only) types.push_back(format.type);
  }
  return types;
}

inline bool is_float_type(DType type) { return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16; }

}  // namespace ingle::conformance
