#include "models/adapter.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"

namespace ingle {
namespace {

constexpr std::string_view kA = ".lora_a", kB = ".lora_b";

// Both files name their tensors alike, but an output matrix may be the embedding table's.
constexpr std::string_view kOutput = "output.weight", kEmbedding = "token_embd.weight";

void check_kind(const GgufFile& file, const GgufFile& model) {
  const std::string_view type = file.find_string("general.type").value_or("model");
  if (type != "adapter")
    throw_error(ErrorCode::kUnsupported, "{}: general.type is '{}', not 'adapter'", file.path(), type);
  const std::string_view kind = file.get_string("adapter.type");
  if (kind != "lora")
    throw_error(ErrorCode::kUnsupported, "{}: is an adapter of type '{}'; 'lora' is known", file.path(), kind);
  if (file.find_value("adapter.alora.invocation_tokens") != nullptr) {
    throw_error(ErrorCode::kUnsupported, "{}: becomes active at certain tokens (aLoRA), which is not implemented",
                file.path());
  }
  const std::string_view own = file.get_string("general.architecture"), is = model.get_string("general.architecture");
  if (own != is) {
    throw_error(ErrorCode::kInvalidFile, "{}: was made for the architecture '{}', {} is '{}'", file.path(), own,
                model.path(), is);
  }
}

std::vector<float> decode(const ConstTensorView& view) {
  std::vector<float> numbers(static_cast<size_t>(view.shape.elements()));
  format_of(view.type).decode(view.data, numbers.data(), view.shape.elements());
  return numbers;
}

ConstTensorView rows_of(const ConstTensorView& view, int64_t first, int64_t count) {
  return {view.row(first), view.type, {count, view.shape.columns()}};
}

}  // namespace

const LowRank* AdapterWeights::find(const Matrix* w) const noexcept {
  const auto at = linears_.find(w);
  return at == linears_.end() ? nullptr : &at->second;
}

const LowRankTable* AdapterWeights::find_table(const Matrix* w) const noexcept {
  const auto at = tables_.find(w);
  return at == tables_.end() ? nullptr : &at->second;
}

size_t AdapterWeights::bytes() const noexcept {
  size_t sum = 0;
  for (const auto& matrix : matrices_) sum += matrix->bytes;
  return sum;
}

class AdapterLoader {
 public:
  AdapterLoader(const GgufFile& file, const GgufFile& model, const WeightStore& weights, Backend& backend)
      : file_(file), model_(model), weights_(weights), backend_(backend) {
    check_kind(file, model);
    alpha_ = file.get_float("adapter.lora.alpha");
    if (!std::isfinite(alpha_))
      throw_error(ErrorCode::kInvalidFile, "{}: key 'adapter.lora.alpha' is {}", file.path(), alpha_);
  }

  AdapterWeights load() {
    std::map<std::string_view, Pair> pairs;
    for (const GgufTensor& tensor : file_.tensors()) {
      const std::string_view name = tensor.name;
      const bool a = name.ends_with(kA);
      if (!a && !name.ends_with(kB))
        throw_error(ErrorCode::kUnsupported, "{}: {}: its name ends in neither {} nor {}", file_.path(), name, kA, kB);
      Pair& pair = pairs[name.substr(0, name.size() - kA.size())];
      (a ? pair.a : pair.b) = tensor.view;
    }
    if (pairs.empty()) throw_error(ErrorCode::kInvalidFile, "{}: has no tensors", file_.path());
    for (const auto& [name, pair] : pairs) add(name, pair);
    return std::move(result_);
  }

 private:
  struct Pair {
    std::optional<ConstTensorView> a, b;
  };

  [[noreturn]] void refuse_shape(std::string_view name, std::string_view part, const Shape& is, const Shape& model,
                                 const std::string& wanted) const {
    throw_error(ErrorCode::kInvalidFile, "{}: {}{} is {}; beside the model's {} it has to be {}", file_.path(), name,
                part, to_string(is), to_string(model), wanted);
  }

  float scale(int64_t rank) const {  // an alpha of 0 stands for none
    return alpha_ == 0 ? 1.0f : static_cast<float>(alpha_ / static_cast<double>(rank));
  }

  void add(std::string_view name, const Pair& pair) {
    for (const auto& [view, part] : {std::pair(pair.a, kA), std::pair(pair.b, kB)})
      if (!view) throw_error(ErrorCode::kInvalidFile, "{}: {}{} is missing", file_.path(), name, part);
    const bool tied = name == kOutput && !model_.find(name);
    const std::string_view target = tied ? kEmbedding : name;
    const std::optional<ConstTensorView> original = model_.find(target);
    if (!original) {
      throw_error(ErrorCode::kInvalidFile, "{}: {}{}: the model has no tensor {}", file_.path(), name, kA, target);
    }
    std::vector<size_t> linears, tables;
    for (size_t i = 0; i < weights_.matrices.size(); ++i) {
      if (weights_.sources[i].tensor == target) (weights_.sources[i].table ? tables : linears).push_back(i);
    }
    if (!tables.empty() && !tied) {
      add_table(name, pair, original->shape, tables);
    } else if (!linears.empty()) {
      add_linears(name, pair, original->shape, linears);
    } else {
      throw_error(ErrorCode::kUnsupported, "{}: {}{}: the model's {} is no matrix that it multiplies by", file_.path(),
                  name, kA, target);
    }
  }

  void add_table(std::string_view name, const Pair& pair, const Shape& shape, const std::vector<size_t>& tables) {
    const int64_t rank = pair.a->shape.columns();
    if (pair.a->shape != Shape{shape[0], rank})
      refuse_shape(name, kA, pair.a->shape, shape, fmt::format("[{}, rank]", shape[0]));
    if (pair.b->shape != Shape{shape[1], rank})
      refuse_shape(name, kB, pair.b->shape, shape, fmt::format("[{}, {}]", shape[1], rank));
    const Matrix* a = keep(backend_.table(std::string(name) + std::string(kA), *pair.a));
    const Matrix* b = keep(backend_.pack(std::string(name) + std::string(kB), *pair.b));
    for (const size_t i : tables)
      result_.tables_[weights_.matrices[i].get()] = {.a = a, .b = {.weight = b}, .scale = scale(rank)};
  }

  void add_linears(std::string_view name, const Pair& pair, const Shape& shape, const std::vector<size_t>& linears) {
    const bool several = shape.rank == 3;
    const int64_t in = shape.columns(), out = shape.rank == 1 ? 1 : shape[shape.rank - 2];
    const int64_t count = several ? shape[0] : 1;
    const int64_t rank = pair.b->shape.columns();
    const Shape a_shape = several ? Shape{count, rank, in} : Shape{rank, in};
    const Shape b_shape = several ? Shape{count, out, rank} : Shape{out, rank};
    const std::string in_front = several ? fmt::format("{}, ", count) : "";
    if (pair.b->shape != b_shape)
      refuse_shape(name, kB, pair.b->shape, shape, fmt::format("[{}{}, rank]", in_front, out));
    if (pair.a->shape != a_shape)
      refuse_shape(name, kA, pair.a->shape, shape, fmt::format("[{}{}, {}]", in_front, rank, in));
    std::map<int64_t, const Matrix*> shared;  // A of each expert: parts of one matrix read the same
    for (const size_t i : linears) {
      const Matrix& w = *weights_.matrices[i];
      const MatrixSource& source = weights_.sources[i];
      const int64_t expert = source.first_row / out;
      const ConstTensorView a = rows_of(*pair.a, expert * rank, rank);
      const ConstTensorView b = rows_of(*pair.b, source.first_row, source.transposed ? w.columns : w.rows);
      LowRank& made = result_.linears_[&w];
      made.scale = scale(rank);
      if (source.transposed) {  // (B A)^T = A^T B^T
        made.a.weight = pack_transposed(name, kB, b);
        made.b.weight = pack_transposed(name, kA, a);
        continue;
      }
      const Matrix*& first = shared[expert];
      if (first == nullptr) first = keep(backend_.pack(fmt::format("{}{}[{}]", name, kA, expert), a));
      made.a.weight = first;
      made.b.weight = keep(backend_.pack(fmt::format("{}{}[{}]", name, kB, source.first_row), b));
    }
  }

  const Matrix* pack_transposed(std::string_view name, std::string_view part, const ConstTensorView& view) {
    const int64_t rows = view.shape.rows(), columns = view.shape.columns();
    const std::vector<float> numbers = decode(view);
    std::vector<float> turned(numbers.size());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c)
        turned[static_cast<size_t>(c * rows + r)] = numbers[static_cast<size_t>(r * columns + c)];
    }
    return keep(backend_.pack(fmt::format("{}{}^T", name, part),
                              {reinterpret_cast<const std::byte*>(turned.data()), DType::kF32, {columns, rows}}));
  }

  const Matrix* keep(std::unique_ptr<Matrix> matrix) {
    result_.matrices_.push_back(std::move(matrix));
    return result_.matrices_.back().get();
  }

  const GgufFile& file_;
  const GgufFile& model_;
  const WeightStore& weights_;
  Backend& backend_;
  double alpha_ = 0;
  AdapterWeights result_;
};

AdapterWeights load_adapter(const GgufFile& file, const GgufFile& model, const WeightStore& weights, Backend& backend) {
  return AdapterLoader(file, model, weights, backend).load();
}

}  // namespace ingle
