// x = 1 / (1 + e^-x).
#include <cmath>

#include "backend/row_ops.h"

namespace ingle {
namespace {

void sigmoid(const RowView& r) noexcept {
  for (int64_t i = 0; i < r.n; ++i) r.x[i] = 1.0f / (1.0f + std::exp(-r.x[i]));
}

}  // namespace

constinit const RowOp kSigmoid = {.name = "sigmoid", .operations_per_number = 10, .elementwise = true, .row = sigmoid};

}  // namespace ingle
