// x = gelu(x) * y, gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), Hendrycks and Gimpel, arXiv:1606.08415.
#include "backend/row_ops.h"

#include <cmath>

namespace ingle {
namespace {

void gelu_mul(const RowView& r) noexcept {
  constexpr float kRootOfTwoByPi = 0.79788456080286536f;
  for (int64_t i = 0; i < r.n; ++i) {
    const float x = r.x[i];
    r.x[i] = 0.5f * x * (1.0f + std::tanh(kRootOfTwoByPi * (x + 0.044715f * x * x * x))) * r.y[i];
  }
}

}  // namespace

constinit const RowOp kGeluMul = {
    .name = "gelu_mul", .operations_per_number = 10, .elementwise = true, .reads_y = true, .row = gelu_mul};

}  // namespace ingle
