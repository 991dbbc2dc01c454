// x = a * x
#include "backend/row_ops.h"

namespace ingle {
namespace {

void scale(const RowView& r) noexcept {
  for (int64_t i = 0; i < r.n; ++i) r.x[i] *= r.a;
}

}  // namespace

constinit const RowOp kScale = {.name = "scale", .operations_per_number = 1, .elementwise = true, .row = scale};

}  // namespace ingle
