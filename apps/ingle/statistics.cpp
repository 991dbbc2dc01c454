#include "apps/ingle/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ingle::app {

double quantile(std::span<const double> sorted, double fraction) {
  const double rank = fraction * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarize(std::vector<double> values) {
  std::ranges::sort(values);
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {.median = quantile(values, 0.5),
          .mean = mean,
          .stddev = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0,
          .least = values.front(),
          .most = values.back(),
          .quartile_1 = quantile(values, 0.25),
          .quartile_3 = quantile(values, 0.75)};
}

}  // namespace ingle::app
