// x = max(x - (mean + a * deviation), 0), both of the whole row, the deviation divided by its size: of normally
// distributed numbers a fixed part stays.
#include "backend/row_ops.h"

#include <algorithm>
#include <cmath>

namespace ingle {
namespace {

void keep_largest(const RowView& r) noexcept {
  const auto n = static_cast<double>(r.n);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < r.n; ++i) sum += r.x[i];
  const double mean = sum / n;
  for (int64_t i = 0; i < r.n; ++i) squares += (r.x[i] - mean) * (r.x[i] - mean);
  const auto least = static_cast<float>(mean + r.a * std::sqrt(squares / n));
  for (int64_t i = 0; i < r.n; ++i) r.x[i] = std::max(r.x[i] - least, 0.0f);
}

}  // namespace

constinit const RowOp kKeepLargest = {.name = "keep_largest", .operations_per_number = 6, .row = keep_largest};

}  // namespace ingle
