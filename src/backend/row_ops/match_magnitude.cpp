// x = x * sqrt(mean(y^2) / max(mean(x^2), a)): x at the root mean square of y; a keeps rows of almost nothing small.
#include "backend/row_ops.h"

#include <algorithm>
#include <cmath>

namespace ingle {
namespace {

double mean_square(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum / static_cast<double>(n);
}

void match_magnitude(const RowView& r) noexcept {
  const double mine = std::max(mean_square(r.x, r.n), static_cast<double>(r.a));
  const auto factor = static_cast<float>(std::sqrt(mean_square(r.y, r.n) / mine));
  for (int64_t i = 0; i < r.n; ++i) r.x[i] *= factor;
}

}  // namespace

constinit const RowOp kMatchMagnitude = {
    .name = "match_magnitude", .operations_per_number = 5, .reads_y = true, .row = match_magnitude};

}  // namespace ingle
