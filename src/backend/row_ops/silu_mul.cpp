// x = silu(x) * y, silu(x) = x / (1 + e^-x): a gate on what comes beside it.
#include "backend/row_ops.h"

#include <cmath>

namespace ingle {
namespace {

void silu_mul(const RowView& r) noexcept {
  for (int64_t i = 0; i < r.n; ++i) r.x[i] = r.x[i] / (1.0f + std::exp(-r.x[i])) * r.y[i];
}

}  // namespace

constinit const RowOp kSiluMul = {
    .name = "silu_mul", .operations_per_number = 10, .elementwise = true, .reads_y = true, .row = silu_mul};

}  // namespace ingle
