// Operations that go over a tensor's rows in place, each defined once in plain code. A backend that shares the host's
// memory can run the definition; it is fast there when the backend's table has a version of its own
// (cpu/cpu_row_ops.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace ingle {

// What an operation reads besides x; its line below says what of it.
struct RowOperands {
  Tensor y = {};                  // [rows of x, at least column + numbers in a row of x]
  int64_t column = 0;             // where in a row of y its part for x begins
  const float* vector = nullptr;  // [numbers in a row of x], the same for every row
  float a = 0, b = 0;
};

// One row, or a part of one where the operation is elementwise.
struct RowView {
  float* x;
  int64_t n;
  const float* y;       // n numbers, or nullptr
  const float* vector;  // n numbers, or nullptr
  float a, b;
};

struct RowOp {
  std::string_view name;                   // in --profile; lives for ever
  double operations_per_number;            // for --profile: a multiply-add counts two
  bool elementwise = false;                // a number depends on those at its own place only: long rows may be cut
  bool reads_y = false;                    // must be given
  bool reads_vector = false;               // must be given
  void (*row)(const RowView& r) noexcept;  // the definition
};

// One line each; row_ops/NAME.cpp is its definition.
extern const RowOp kScale;           // x = a * x
extern const RowOp kAddScaled;       // x = x + a * y
extern const RowOp kScaleColumns;    // x = vector * x
extern const RowOp kSoftCap;         // x = a * tanh(x / a)
extern const RowOp kSigmoid;         // x = 1 / (1 + e^-x)
extern const RowOp kGelu;            // x = gelu(x), gelu as it is defined: x times the normal distribution up to x
extern const RowOp kSiluMul;         // x = silu(x) * y
extern const RowOp kGeluMul;         // x = gelu(x) * y, gelu in its tanh form
extern const RowOp kMatchMagnitude;  // x = x * sqrt(mean(y^2) / max(mean(x^2), a))
extern const RowOp kKeepLargest;     // x = max(x - (mean(x) + a * deviation(x)), 0), the deviation of the whole row

}  // namespace ingle
