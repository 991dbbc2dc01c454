#include "runtime/input_sums.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/error.h"
#include "gguf/writer.h"

namespace ingle {
namespace {

constexpr std::string_view kSquares = ".in_sum2", kRows = ".counts";

std::vector<double> read_numbers(const ConstTensorView& view) {
  std::vector<float> numbers(static_cast<size_t>(view.shape.elements()));
  format_of(DType::kF32).decode(view.data, numbers.data(), view.shape.elements());
  return {numbers.begin(), numbers.end()};
}

}  // namespace

int64_t matrices_of(const Shape& shape) {
  int64_t matrices = 1;
  for (int i = 0; i + 2 < shape.rank; ++i) matrices *= shape[i];
  return matrices;
}

InputSums InputSums::read(const GgufFile& file) {
  if (file.find_string("general.type").value_or("") != "imatrix")
    throw_error(ErrorCode::kInvalidFile, "{}: not a file of importance (general.type is not imatrix)", file.path());
  InputSums sums;
  sums.windows = std::max<int64_t>(0, file.find_int("imatrix.chunk_count").value_or(0));
  sums.window = std::max<int64_t>(0, file.find_int("imatrix.chunk_size").value_or(0));
  if (const auto texts = file.find_strings("imatrix.datasets")) sums.texts.assign(texts->begin(), texts->end());
  for (const GgufTensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with(kSquares)) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - kSquares.size());
    const auto counts = file.find(name + std::string(kRows));
    const int64_t matrices = tensor.view.shape.rows(), columns = tensor.view.shape.columns();
    if (!counts || counts->shape.elements() != matrices || tensor.view.type != DType::kF32 ||
        counts->type != DType::kF32)
      throw_error(ErrorCode::kInvalidFile, "{}: {}: no f32 sums with a count for each of {} matrices", file.path(),
                  name, matrices);
    Entry entry{
        .matrices = matrices, .columns = columns, .squares = read_numbers(tensor.view), .rows = read_numbers(*counts)};
    for (size_t i = 0; i < entry.squares.size(); ++i) {
      const double square = entry.squares[i], count = entry.rows[i / static_cast<size_t>(columns)];
      if (!std::isfinite(square) || square < 0 || !std::isfinite(count) || count < 0)
        throw_error(ErrorCode::kInvalidFile, "{}: {}: {} / {} is no mean of squares", file.path(), name, square, count);
    }
    sums.entries.emplace(name, std::move(entry));
  }
  return sums;
}

void InputSums::add(const InputSums& other) {
  for (const auto& [name, theirs] : other.entries) {
    const auto mine = entries.find(name);
    if (mine == entries.end()) continue;
    if (mine->second.matrices != theirs.matrices || mine->second.columns != theirs.columns)
      throw_error(ErrorCode::kInvalidArgument, "{}: {} matrices of {} columns cannot be added to {} of {}", name,
                  theirs.matrices, theirs.columns, mine->second.matrices, mine->second.columns);
  }
  for (const auto& [name, theirs] : other.entries) {
    const auto [mine, fresh] = entries.emplace(name, theirs);
    if (fresh) continue;
    std::ranges::transform(mine->second.squares, theirs.squares, mine->second.squares.begin(), std::plus());
    std::ranges::transform(mine->second.rows, theirs.rows, mine->second.rows.begin(), std::plus());
  }
  windows += other.windows;
  if (window == 0) window = other.window;
  for (const std::string& text : other.texts)
    if (std::ranges::count(texts, text) == 0) texts.push_back(text);
}

void InputSums::write(const std::filesystem::path& target, std::vector<std::filesystem::path> keep) const {
  GgufWriter writer(target, {.keep = std::move(keep)});
  writer.set<std::string>("general.type", "imatrix");
  writer.set_array<std::string>("imatrix.datasets", texts);
  writer.set<uint32_t>("imatrix.chunk_count", static_cast<uint32_t>(windows));
  writer.set<uint32_t>("imatrix.chunk_size", static_cast<uint32_t>(window));
  std::deque<std::vector<float>> kept;  // until they are written
  const auto add = [&](const std::string& name, const Shape& shape, const std::vector<double>& numbers) {
    const std::vector<float>& rounded = kept.emplace_back(numbers.begin(), numbers.end());
    writer.add_tensor(name, DType::kF32, shape, std::as_bytes(std::span(rounded)));
  };
  for (const auto& [name, entry] : entries) {
    add(name + std::string(kSquares), {entry.matrices, entry.columns}, entry.squares);
    add(name + std::string(kRows), {entry.matrices, 1}, entry.rows);
  }
  writer.finish();
}

}  // namespace ingle
