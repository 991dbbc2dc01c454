// x = gelu(x) = x/2 (1 + erf(x / sqrt 2)), Hendrycks and Gimpel, arXiv:1606.08415.
#include <cmath>

#include "backend/row_ops.h"

namespace ingle {
namespace {

void gelu(const RowView& r) noexcept {
  constexpr float kRootOfHalf = 0.70710678118654752f;
  // Of negative numbers erfc keeps the digits that 1 + erf loses.
  for (int64_t i = 0; i < r.n; ++i) r.x[i] *= 0.5f * std::erfc(-kRootOfHalf * r.x[i]);
}

}  // namespace

constinit const RowOp kGelu = {.name = "gelu", .operations_per_number = 20, .elementwise = true, .row = gelu};

}  // namespace ingle
