// x = a * tanh(x / a): bends numbers to between -a and a; small ones stay as they are.
#include "backend/row_ops.h"

#include <cmath>

namespace ingle {
namespace {

void soft_cap(const RowView& r) noexcept {
  for (int64_t i = 0; i < r.n; ++i) r.x[i] = r.a * std::tanh(r.x[i] / r.a);
}

}  // namespace

constinit const RowOp kSoftCap = {
    .name = "soft_cap", .operations_per_number = 10, .elementwise = true, .row = soft_cap};

}  // namespace ingle
