#include "convert/draft.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"

namespace ingle {
namespace {

int64_t rows_of_matrix(const Shape& shape) { return shape.rank < 2 ? 1 : shape[shape.rank - 2]; }

Shape with_rows(Shape shape, int64_t rows) {
  shape.extent[static_cast<size_t>(shape.rank - 2)] = rows;
  return shape;
}

// Reads row by row where a function says which.
template <class Where>
Rows rearranged(Rows rows, Shape shape, Where where) {
  const int64_t columns = rows.shape.columns();
  return {shape,
          [read = std::move(rows.read), columns, where](int64_t first, int64_t count, float* out) {
            for (int64_t i = 0; i < count; ++i) read(where(first + i), 1, out + i * columns);
          },
          std::move(rows.sources)};
}

// Every number made another one.
template <class Change>
Rows changed(Rows rows, Change change) {
  const int64_t columns = rows.shape.columns();
  return {rows.shape,
          [read = std::move(rows.read), columns, change](int64_t first, int64_t count, float* out) {
            read(first, count, out);
            std::transform(out, out + count * columns, out, change);
          },
          std::move(rows.sources)};
}

}  // namespace

Rows rows_of(const SafeTensor& tensor) {
  return {tensor.shape,
          [&tensor, columns = tensor.shape.columns()](int64_t first, int64_t count, float* out) {
            tensor.read(first * columns, count * columns, out);
          },
          {&tensor}};
}

Rows elements_of(const SafeTensor& tensor) {
  return {Shape{tensor.shape.elements(), 1},
          [&tensor](int64_t first, int64_t count, float* out) { tensor.read(first, count, out); },
          {&tensor}};
}

Rows paired(Rows rows, int64_t heads) {
  // A bias is a column of rows.
  const bool vector = rows.shape.rank == 1;
  const int64_t n = vector ? rows.shape[0] : rows.shape[0], half = n / heads / 2;
  const auto where = [half](int64_t row) {
    const int64_t head = row / (2 * half), i = row % (2 * half);
    return head * 2 * half + i % 2 * half + i / 2;
  };
  if (!vector) {
    const Shape shape = rows.shape;
    return rearranged(std::move(rows), shape, where);
  }
  return {rows.shape,
          [read = std::move(rows.read), n, where](int64_t, int64_t, float* out) {
            std::vector<float> all(static_cast<size_t>(n));
            read(0, 1, all.data());
            for (int64_t i = 0; i < n; ++i) out[i] = all[static_cast<size_t>(where(i))];
          },
          std::move(rows.sources)};
}

Rows part(Rows rows, int64_t first, int64_t count) {
  if (rows.shape.rank == 1) {
    const auto n = static_cast<size_t>(rows.shape[0]);
    return {Shape{count},
            [read = std::move(rows.read), n, first, count](int64_t, int64_t, float* out) {
              std::vector<float> all(n);
              read(0, 1, all.data());
              std::copy_n(all.data() + first, count, out);
            },
            std::move(rows.sources)};
  }
  const int64_t each = rows_of_matrix(rows.shape);
  const Shape shape = with_rows(rows.shape, count);
  return rearranged(std::move(rows), shape,
                    [each, first, count](int64_t row) { return row / count * each + first + row % count; });
}

Rows stacked(std::vector<Rows> matrices) {
  Rows all;
  const Shape& one = matrices.front().shape;
  if (one.rank > 2)
    throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, it must be a matrix",
                matrices.front().sources.front()->name, to_string(one));
  all.shape = one.rank == 1 ? Shape{static_cast<int64_t>(matrices.size()), one[0]}
                            : Shape{static_cast<int64_t>(matrices.size()), one[0], one[1]};
  std::vector<std::function<void(int64_t, int64_t, float*)>> reads;
  for (Rows& matrix : matrices) {
    all.sources.insert(all.sources.end(), matrix.sources.begin(), matrix.sources.end());
    reads.push_back(std::move(matrix.read));
  }
  all.read = [reads = std::move(reads), each = one.rank == 1 ? 1 : one[0], columns = one.columns()](
                 int64_t first, int64_t count, float* out) {
    while (count > 0) {
      const int64_t n = std::min(count, each - first % each);
      reads[static_cast<size_t>(first / each)](first % each, n, out);
      first += n;
      count -= n;
      out += n * columns;
    }
  };
  return all;
}

Rows plus(Rows rows, float number) {
  return changed(std::move(rows), [number](float x) { return x + number; });
}

Rows times(Rows rows, float number) {
  return changed(std::move(rows), [number](float x) { return x * number; });
}

Rows numbers(std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  const auto kept = std::make_shared<const std::vector<float>>(std::move(values));
  return {Shape{n}, [kept](int64_t, int64_t, float* out) { std::ranges::copy(*kept, out); }, {}};
}

Rows filled_up(Rows rows, int64_t count) {
  const int64_t has = rows.shape[0];
  if (has >= count) return rows;
  const Shape shape{count, rows.shape.columns()};
  return rearranged(std::move(rows), shape, [has](int64_t row) { return row < has ? row : 0; });
}

Rows transposed(Rows elements, const Columns& c) {
  if (c.matrices < 1 || c.rows < 1 || c.columns < c.step ||
      (c.matrices - 1) * c.apart + c.rows * c.columns > elements.shape.rows())
    throw_error(ErrorCode::kInvalidFile, "tensor {} has {} numbers, {} matrices of {} by {} are wanted of it",
                elements.sources.front()->name, elements.shape.rows(), c.matrices, c.rows, c.columns);
  const int64_t each = c.columns / c.step;
  return {Shape{c.matrices, each, c.rows},
          [read = std::move(elements.read), c, each](int64_t first, int64_t count, float* out) {
            std::vector<float> run;
            while (count > 0) {
              const int64_t n = std::min(count, each - first % each), length = (n - 1) * c.step + 1;
              const int64_t start = first / each * c.apart + c.first + first % each * c.step;
              run.resize(static_cast<size_t>(length));
              for (int64_t row = 0; row < c.rows; ++row) {
                read(start + row * c.columns, length, run.data());
                for (int64_t i = 0; i < n; ++i) out[i * c.rows + row] = run[static_cast<size_t>(i * c.step)];
              }
              first += n;
              count -= n;
              out += n * c.rows;
            }
          },
          std::move(elements.sources)};
}

void refuse_left_over(const std::filesystem::path& folder, std::vector<std::string_view> names,
                      std::string_view whose) {
  if (names.empty()) return;
  constexpr size_t kShown = 20;
  const size_t all = names.size();
  names.resize(std::min(all, kShown));
  throw_error(ErrorCode::kUnsupported, "{}: {} tensors that {} has no place for: {}{}", folder.native(), all, whose,
              fmt::join(names, ", "), all > kShown ? fmt::format(" and {} more", all - kShown) : "");
}

Draft::Draft(const HfFolder& folder, std::string architecture)
    : folder_(folder), architecture_(std::move(architecture)) {
  set("general.architecture", gguf_value<std::string>(architecture_));
}

void Draft::set(std::string key, GgufValue value) {
  const auto found = std::ranges::find(metadata, key, &std::pair<std::string, GgufValue>::first);
  if (found != metadata.end()) {
    found->second = std::move(value);
  } else {
    metadata.emplace_back(std::move(key), std::move(value));
  }
}

int64_t Draft::repeats(std::string_view key) const {
  const int64_t most = folder_.tensor_count();
  const int64_t value = config().integer(key);
  if (value < 1 || value > most)
    config().refuse(key, fmt::format("from 1 to {}, the folder has no more tensors", most));
  return value;
}

void Draft::count(std::string_view key, int64_t value) {
  if (value < 0 || value > std::numeric_limits<uint32_t>::max())
    throw_error(ErrorCode::kInvalidFile, "{}: {} would be {}", config().file(), key, value);
  set(fmt::format("{}.{}", architecture_, key), gguf_value<uint32_t>(static_cast<uint32_t>(value)));
}
void Draft::real(std::string_view key, double value) {
  set(fmt::format("{}.{}", architecture_, key), gguf_value<float>(static_cast<float>(value)));
}
void Draft::flag(std::string_view key, bool value) {
  set(fmt::format("{}.{}", architecture_, key), gguf_value<bool>(value));
}

const SafeTensor& Draft::take(std::string_view name) {
  const SafeTensor* tensor = folder_.find(name);
  if (!tensor) throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is missing", folder_.path().native(), name);
  if (tensor->shape.rank == 0 || tensor->shape.elements() == 0)
    throw_error(ErrorCode::kInvalidFile, "{}: tensor {} has the shape {}", folder_.path().native(), name,
                to_string(tensor->shape));
  taken_.insert(std::string(name));
  return *tensor;
}

const SafeTensor& Draft::take_readable(std::string_view name) {
  const SafeTensor& tensor = take(name);
  if (!tensor.readable())
    throw_error(ErrorCode::kUnsupported, "{}: tensor {} is of type {} (F32, F16, BF16 and F64 can be converted)",
                folder_.path().native(), name, tensor.type);
  return tensor;
}

Rows Draft::rows(std::string_view name) { return rows_of(take_readable(name)); }

Rows Draft::elements(std::string_view name) { return elements_of(take_readable(name)); }

const SafeTensor& Draft::bytes_of(std::string_view name) {
  const SafeTensor& tensor = take(name);
  if (tensor.type != "U8")
    throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is of type {}, it must be U8", folder_.path().native(), name,
                tensor.type);
  return tensor;
}

void Draft::leave_out(std::string_view prefix) {
  for (const std::string_view name : folder_.names())
    if (name.starts_with(prefix)) left_out += taken_.insert(std::string(name)).second;
}

void Draft::add(std::string name, Rows rows, DraftTensor::Storage storage) {
  if (rows.shape.rank == 1) storage = DraftTensor::Storage::kFloat;
  tensors.push_back({std::move(name), std::move(rows), storage, {}});
}

void Draft::add(std::string name, Shape shape, PackedRows packed, std::vector<const SafeTensor*> sources) {
  tensors.push_back(
      {std::move(name), {shape, {}, std::move(sources)}, DraftTensor::Storage::kMatrix, std::move(packed)});
}

void Draft::linear(std::string_view name, std::string_view part_name) {
  linear(name, part_name, [](Rows rows) { return rows; });
}

void Draft::linear(std::string_view name, std::string_view part_name, const std::function<Rows(Rows)>& change) {
  for (const char* kind : {"weight", "bias"}) {
    const std::string source = fmt::format("{}.{}", part_name, kind);
    if (kind == std::string_view("weight") || has(source)) add(fmt::format("{}.{}", name, kind), change(rows(source)));
  }
}

void Draft::finish() const {
  std::vector<std::string_view> left;
  for (const std::string_view name : folder_.names())
    if (!taken_.contains(name)) left.push_back(name);
  refuse_left_over(folder_.path(), std::move(left), architecture_);
}

}  // namespace ingle
