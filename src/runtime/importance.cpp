#include "runtime/importance.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "runtime/input_sums.h"

namespace ingle {

namespace {

// Mean squares of one matrix's columns, times a power of two, which changes no digit, that brings their mean to between
// 1 and 2: rounding asks only how they compare, and what a text makes them could be beyond a float.
void add_means(const double* squares, double rows, int64_t columns, std::vector<float>& means) {
  const double mean = std::accumulate(squares, squares + columns, 0.0) / static_cast<double>(columns) / rows;
  if (!std::isnormal(mean)) {  // an expert nobody chose, inputs that are all 0: all inputs alike
    means.insert(means.end(), static_cast<size_t>(columns), 1.0f);
    return;
  }
  const int exponent = std::ilogb(mean);
  for (int64_t i = 0; i < columns; ++i) means.push_back(static_cast<float>(std::ldexp(squares[i] / rows, -exponent)));
}

}  // namespace

Importance Importance::open(const std::filesystem::path& path) {
  Importance importance;
  importance.path_ = path.native();
  for (const auto& [name, sums] : InputSums::open(path).entries) {
    Entry entry{.matrices = sums.matrices, .columns = sums.columns, .means = {}};
    entry.means.reserve(sums.squares.size());
    for (int64_t m = 0; m < sums.matrices; ++m)
      add_means(sums.squares.data() + m * sums.columns, sums.rows[static_cast<size_t>(m)], sums.columns, entry.means);
    importance.entries_.emplace(name, std::move(entry));
  }
  return importance;
}

std::span<const float> Importance::of(const std::string& tensor, const Shape& shape) const {
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  const int64_t matrices = matrices_of(shape);
  if (entry.columns != shape.columns() || (entry.matrices != matrices && entry.matrices != 1))
    throw_error(ErrorCode::kInvalidFile, "{}: {} has {} matrices of {} columns, the model's has {} of {}", path_,
                tensor, entry.matrices, entry.columns, matrices, shape.columns());
  return entry.means;
}

}  // namespace ingle
