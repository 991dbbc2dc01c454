// What a handful of measurements says: order statistics first, since a few slow runs are the rule on shared machines.
#pragma once

#include <span>
#include <vector>

namespace ingle::app {

struct Summary {
  double median = 0, mean = 0, stddev = 0;  // stddev: of the sample (n - 1); 0 for one value
  double least = 0, most = 0;
  double quartile_1 = 0, quartile_3 = 0;
};

// `sorted` ascending, not empty; linear between the two nearest ranks (method 7 of Hyndman and Fan, 1996).
double quantile(std::span<const double> sorted, double fraction);

Summary summarize(std::vector<double> values);  // not empty

}  // namespace ingle::app
