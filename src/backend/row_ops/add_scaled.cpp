// x = x + a * y
#include "backend/row_ops.h"

namespace ingle {
namespace {

void add_scaled(const RowView& r) noexcept {
  for (int64_t i = 0; i < r.n; ++i) r.x[i] += r.a * r.y[i];
}

}  // namespace

constinit const RowOp kAddScaled = {
    .name = "add_scaled", .operations_per_number = 2, .elementwise = true, .reads_y = true, .row = add_scaled};

}  // namespace ingle
