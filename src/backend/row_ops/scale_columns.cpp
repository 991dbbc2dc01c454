// x = vector * x: a factor of its own for every column
#include "backend/row_ops.h"

namespace ingle {
namespace {

void scale_columns(const RowView& r) noexcept {
  for (int64_t i = 0; i < r.n; ++i) r.x[i] *= r.vector[i];
}

}  // namespace

constinit const RowOp kScaleColumns = {.name = "scale_columns",
                                       .operations_per_number = 1,
                                       .elementwise = true,
                                       .reads_vector = true,
                                       .row = scale_columns};

}  // namespace ingle
