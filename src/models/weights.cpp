#include "models/weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ingle {
namespace {

constexpr size_t kAhead = size_t{64} << 20;  // bytes of the file that are on their way behind what is being packed

}  // namespace

size_t WeightStore::bytes() const noexcept {
  size_t sum = 0;
  for (const auto& matrix : matrices) sum += matrix->bytes;
  for (const auto& vector : vectors) sum += vector.size() * sizeof(float);
  return sum;
}

WeightLoader::WeightLoader(const GgufFile& file, Backend& backend, WeightStore& store, LoadOptions options)
    : file_(file), backend_(backend), store_(store), options_(std::move(options)) {
  for (const GgufTensor& tensor : file.tensors()) total_bytes_ += static_cast<double>(tensor.view.bytes());
}

std::optional<ConstTensorView> WeightLoader::find(const std::string& name, const Shape& shape) {
  const std::optional<ConstTensorView> view = file_.find(name);
  if (!view) return std::nullopt;
  used_.insert(name);
  if (view->shape != shape) {
    throw_error(ErrorCode::kInvalidFile, "{}: {}: is {}, the model's hyper-parameters ask for {}", file_.path(), name,
                to_string(view->shape), to_string(shape));
  }
  return view;
}

const Matrix* WeightLoader::pack(const std::string& name, const ConstTensorView& w, MatrixSource source) {
  if (options_.packing == Packing::kAtLoad) {
    const std::span<const std::byte> rest = file_.mapped_from(w);
    read_ahead_.want(rest.first(std::min(rest.size(), w.bytes() + kAhead)));
  }
  store_.matrices.push_back(backend_.pack(name, w, options_.packing));
  store_.sources.push_back(std::move(source));
  if (options_.drop_pages && options_.packing == Packing::kAtLoad) file_.drop(w);
  advance(w);
  return store_.matrices.back().get();
}

const Matrix* WeightLoader::pack_copy(const std::string& name, const ConstTensorView& w, MatrixSource source) {
  store_.matrices.push_back(backend_.pack(name, w));
  store_.sources.push_back(std::move(source));
  return store_.matrices.back().get();
}

const Matrix* WeightLoader::table(const std::string& name, const ConstTensorView& w) {
  store_.matrices.push_back(backend_.table(name, w));
  store_.sources.push_back({.tensor = name, .table = true});
  tables_.push_back(w);
  advance(w);
  return store_.matrices.back().get();
}

const float* WeightLoader::vector(const std::string& name, const ConstTensorView& w) {
  std::vector<float> numbers(static_cast<size_t>(w.shape.elements()));
  format_of(w.type).decode(w.data, numbers.data(), w.shape.elements());
  if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); }))
    throw_error(ErrorCode::kInvalidFile, "{}: {}: has a number that is not finite", file_.path(), name);
  store_.vectors.push_back(std::move(numbers));
  advance(w);
  return store_.vectors.back().data();
}

void WeightLoader::advance(const ConstTensorView& w) {
  done_bytes_ += static_cast<double>(w.bytes());
  if (!options_.progress) return;
  // A tied embedding counts twice: the sum may pass the file's.
  if (!options_.progress(std::min(1.0, done_bytes_ / std::max(1.0, total_bytes_))))
    throw_error(ErrorCode::kCancelled, "{}: loading was cancelled", file_.path());
}

void WeightLoader::skip(std::string_view prefix) { skipped_.emplace_back(prefix); }

void WeightLoader::finish() {
  if (options_.drop_pages) {
    for (const ConstTensorView& table : tables_) file_.read_row_by_row(table);
  }
  if (!options_.warn) return;
  std::vector<std::string_view> unused;
  for (const GgufTensor& tensor : file_.tensors()) {
    const auto starts = [&](const std::string& prefix) { return tensor.name.starts_with(prefix); };
    if (!used_.contains(tensor.name) && std::ranges::none_of(skipped_, starts)) unused.push_back(tensor.name);
  }
  if (unused.empty()) return;
  options_.warn(fmt::format("{}: {} of {} tensors are not used by this architecture, the first is {}", file_.path(),
                            unused.size(), file_.tensors().size(), unused.front()));
}

ConstTensorView Weights::require(const std::string& full_name, const Shape& shape) const {
  const std::optional<ConstTensorView> view = loader_->find(full_name, shape);
  if (!view) {
    throw_error(ErrorCode::kInvalidFile, "{}: {}: missing, the model needs it as {}", file().path(), full_name,
                to_string(shape));
  }
  return *view;
}

Linear Weights::linear(std::string_view name, int64_t in, int64_t out) const {
  const std::string weight = weight_name(name);
  return {.weight = loader_->pack(weight, require(weight, {out, in}), {.tensor = weight}),
          .bias = find_bias(name, {out})};
}

Linear Weights::row(std::string_view name, int64_t in) const {
  const std::string weight = weight_name(name);
  const auto stored = file().find(weight);
  ConstTensorView view = require(weight, stored && stored->shape.rank == 1 ? Shape{in} : Shape{1, in});
  view.shape = {1, in};
  return {.weight = loader_->pack(weight, view, {.tensor = weight})};
}

Linear Weights::linear_part(std::string_view name, int64_t in, int64_t out, int64_t first, int64_t count) const {
  const std::string weight = weight_name(name);
  ConstTensorView rows = require(weight, {out, in});
  rows.data = rows.row(first);
  rows.shape = {count, in};
  const float* bias = find_bias(name, {out});
  return {.weight = loader_->pack(fmt::format("{}[{}..{}]", weight, first, first + count - 1), rows,
                                  {.tensor = weight, .first_row = first}),
          .bias = bias == nullptr ? nullptr : bias + first};
}

std::vector<Linear> Weights::linears_part(std::string_view name, int64_t count, int64_t in, int64_t out, int64_t first,
                                          int64_t rows) const {
  const std::string weight = weight_name(name);
  const ConstTensorView all = require(weight, {count, out, in});
  const float* bias = find_bias(name, {count, out});
  std::vector<Linear> result;
  for (int64_t i = 0; i < count; ++i) {
    ConstTensorView part = all;
    part.data = all.row(i * out + first);
    part.shape = {rows, in};
    result.push_back({.weight = loader_->pack(fmt::format("{}[{}]", weight, i), part,
                                              {.tensor = weight, .first_row = i * out + first}),
                      .bias = bias == nullptr ? nullptr : bias + i * out + first});
  }
  return result;
}

Linear Weights::transposed_part(std::string_view name, int64_t in, int64_t rows, int64_t first, int64_t out) const {
  const std::string weight = weight_name(name);
  const ConstTensorView all = require(weight, {rows, in});
  std::vector<float> row(static_cast<size_t>(in)), turned(static_cast<size_t>(in * out));
  for (int64_t i = 0; i < out; ++i) {
    format_of(all.type).decode(all.row(first + i), row.data(), in);
    for (int64_t k = 0; k < in; ++k) turned[static_cast<size_t>(k * out + i)] = row[static_cast<size_t>(k)];
  }
  const ConstTensorView view{reinterpret_cast<const std::byte*>(turned.data()), DType::kF32, {in, out}};
  return {.weight = loader_->pack_copy(fmt::format("{}[{}..{}]^T", weight, first, first + out - 1), view,
                                       {.tensor = weight, .first_row = first, .transposed = true})};
}

Linear Weights::linear_or(std::string_view name, std::string_view other, int64_t in, int64_t out) const {
  return linear(has(name) ? name : other, in, out);
}

const Matrix* Weights::table(std::string_view name, int64_t columns, int64_t rows) const {
  const std::string weight = weight_name(name);
  return loader_->table(weight, require(weight, {rows, columns}));
}

Norm Weights::norm(std::string_view name, int64_t size, float eps) const {
  const std::string weight = weight_name(name);
  return {loader_->vector(weight, require(weight, {size})), size, eps};
}

Norm Weights::layer_norm(std::string_view name, int64_t size, float eps) const {
  Norm result = norm(name, size, eps);
  result.centred = true;
  result.bias = find_bias(name, size);
  return result;
}

std::optional<Norm> Weights::find_norm(std::string_view name, int64_t size, float eps) const {
  if (!has(name)) return std::nullopt;
  return norm(name, size, eps);
}

int64_t Weights::rows_of(std::string_view name) const {
  const std::optional<ConstTensorView> view = file().find(weight_name(name));
  if (!view) throw_error(ErrorCode::kInvalidFile, "{}: {}: missing", file().path(), weight_name(name));
  return view->shape.rows();
}

int64_t Weights::elements_of(std::string_view name) const {
  const std::optional<ConstTensorView> view = file().find(weight_name(name));
  return view ? view->shape.elements() : 0;
}

std::span<const float> Weights::find_numbers(const std::string& full_name, const Shape& shape) const {
  const auto view = loader_->find(full_name, shape);
  if (!view) return {};
  return {loader_->vector(full_name, *view), static_cast<size_t>(shape.elements())};
}

const float* Weights::find_bias(std::string_view name, const Shape& shape) const {
  const std::span<const float> bias = find_numbers(fmt::format("{}{}.bias", prefix_, name), shape);
  return bias.empty() ? nullptr : bias.data();
}

std::span<const float> Weights::find_vector(std::string_view name, int64_t size) const {
  return find_numbers(weight_name(name), {size});
}

std::span<const float> Weights::find_scales(std::string_view name, int64_t size) const {
  return find_numbers(fmt::format("{}{}.scale", prefix_, name), {size});
}

}  // namespace ingle
