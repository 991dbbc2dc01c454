#include "runtime/importance.h"

#include <cmath>

#include "base/error.h"

namespace ingle {

Importance Importance::open(const std::filesystem::path& path) {
  const GgufFile file = GgufFile::open(path);
  if (file.find_string("general.type").value_or("") != "imatrix")
    throw_error(ErrorCode::kInvalidFile, "{}: not a file of importance (general.type is not imatrix)", path.native());
  Importance importance;
  importance.path_ = path.native();
  constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
  for (const GgufTensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with(kSums)) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - kSums.size());
    const auto counts = file.find(name + std::string(kCounts));
    const int64_t matrices = tensor.view.shape.rows(), columns = tensor.view.shape.columns();
    if (!counts || counts->shape.elements() != matrices || tensor.view.type != DType::kF32 ||
        counts->type != DType::kF32)
      throw_error(ErrorCode::kInvalidFile, "{}: {}: no f32 sums with a count for each of {} matrices", path.native(),
                  name, matrices);
    Entry entry{
        .matrices = matrices, .columns = columns, .means = std::vector<float>(static_cast<size_t>(matrices * columns))};
    std::vector<float> rows(static_cast<size_t>(matrices));
    format_of(DType::kF32).decode(tensor.view.data, entry.means.data(), matrices * columns);
    format_of(DType::kF32).decode(counts->data, rows.data(), matrices);
    for (int64_t m = 0; m < matrices; ++m) {
      const float count = rows[static_cast<size_t>(m)];
      for (int64_t i = 0; i < columns; ++i) {
        float& mean = entry.means[static_cast<size_t>(m * columns + i)];
        if (!std::isfinite(mean) || mean < 0 || !std::isfinite(count) || count < 0)
          throw_error(ErrorCode::kInvalidFile, "{}: {}: {} / {} is no mean of squares", path.native(), name, mean,
                      count);
        mean = count > 0 ? mean / count : 1;  // an expert nobody chose: all inputs alike
      }
    }
    importance.entries_.emplace(name, std::move(entry));
  }
  return importance;
}

std::span<const float> Importance::of(const std::string& tensor, const Shape& shape) const {
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  const int64_t matrices = shape.rank < 3 ? 1 : shape.rows() / shape[shape.rank - 2];
  if (entry.columns != shape.columns() || (entry.matrices != matrices && entry.matrices != 1))
    throw_error(ErrorCode::kInvalidFile, "{}: {} has {} matrices of {} columns, the model's has {} of {}", path_,
                tensor, entry.matrices, entry.columns, matrices, shape.columns());
  return entry.means;
}

}  // namespace ingle
