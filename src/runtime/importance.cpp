#include "runtime/importance.h"

#include "base/error.h"
#include "runtime/input_sums.h"

namespace ingle {

Importance Importance::open(const std::filesystem::path& path) {
  Importance importance;
  importance.path_ = path.native();
  for (const auto& [name, sums] : InputSums::open(path).entries) {
    Entry entry{.matrices = sums.matrices, .columns = sums.columns, .means = {}};
    entry.means.reserve(sums.squares.size());
    for (size_t i = 0; i < sums.squares.size(); ++i) {
      const double rows = sums.rows[i / static_cast<size_t>(sums.columns)];
      // An expert nobody chose: all inputs alike.
      entry.means.push_back(rows > 0 ? static_cast<float>(sums.squares[i] / rows) : 1.0f);
    }
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
