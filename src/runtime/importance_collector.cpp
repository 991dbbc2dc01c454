#include "ingle/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "ingle/input_files.h"
#include "ingle/session.h"
#include "runtime/input_sums.h"
#include "runtime/model_impl.h"
#include "runtime/recording_ops.h"
#include "runtime/session_impl.h"

namespace ingle {

struct ImportanceCollector::Impl {
  // Where the squares of a matrix are added.
  struct Sums {
    double* squares;
    double* rows;
    int64_t columns;

    void take(const float* row) noexcept {
      for (int64_t i = 0; i < columns; ++i) squares[i] += static_cast<double>(row[i]) * row[i];
      *rows += 1;
    }
  };

  Impl(const Model& model_, ImportanceOptions options_)
      : model(model_),
        options(std::move(options_)),
        session(model, {.context = options.window, .micro_batch = options.micro_batch, .every_row = true}) {
    find_matrices();
    session.set_cancel(options.cancelled);
    session.impl().ops =
        std::make_unique<RecordingOps>(std::move(session.impl().ops), [this](const RecordingOps::Input& input) {
          const auto found = by_matrix.find(input.matrix);
          if (found == by_matrix.end()) return;
          for (int64_t row = 0; row < input.rows; ++row) found->second.take(input.data + row * input.stride);
        });
    sequence = session.create();
  }

  const GgufFile& file() const { return model.impl().file; }

  // Parts of one matrix have the same input: the first of them counts.
  void find_matrices() {
    head_name = file().find("output.weight") ? "output.weight" : "token_embd.weight";
    const WeightStore& weights = *model.impl().loaded.weights;
    for (size_t i = 0; i < weights.matrices.size(); ++i) {
      const auto& [tensor, first_row, transposed, table] = weights.sources[i];
      if (transposed || table || tensor == head_name) continue;
      const Shape shape = file().find(tensor)->shape;
      const int64_t each = shape.rank < 3 ? shape.rows() : shape[shape.rank - 2];
      if (first_row % each == 0) by_matrix.emplace(weights.matrices[i].get(), sums_of(tensor, first_row / each));
    }
    if (options.output) head = sums_of(head_name, 0);
  }

  Sums sums_of(const std::string& tensor, int64_t matrix) {
    const Shape shape = file().find(tensor)->shape;
    const int64_t matrices = matrices_of(shape), columns = shape.columns();
    InputSums::Entry& entry = reading.entries[tensor];
    if (entry.matrices == 0)
      entry = {.matrices = matrices,
               .columns = columns,
               .squares = std::vector<double>(static_cast<size_t>(matrices * columns)),
               .rows = std::vector<double>(static_cast<size_t>(matrices))};
    return {entry.squares.data() + matrix * columns, entry.rows.data() + matrix, columns};
  }

  void forget_reading() {
    for (auto& [name, entry] : reading.entries) {
      std::ranges::fill(entry.squares, 0.0);
      std::ranges::fill(entry.rows, 0.0);
    }
  }

  void read(std::span<const TokenId> window) {
    forget_reading();
    session.truncate(sequence, 0);
    const RunRequest run{
        .sequence = sequence, .tokens = window, .want = Want::kNothing, .hidden = head ? Want::kAll : Want::kLast};
    session.evaluate({&run, 1}, [&](const ResultRow& row) {
      if (head) head->take(row.hidden.data());
    });
    for (const auto& [name, entry] : reading.entries) {
      if (!std::ranges::all_of(entry.squares, [](double square) { return std::isfinite(square); }))
        throw_error(ErrorCode::kInvalidFile, "{}: what comes into {} is not finite", model.info().path, name);
    }
    reading.windows = 1;
    reading.window = options.window;
    sums.add(reading);
  }

  void add(const std::filesystem::path& path) {
    const InputSums earlier = InputSums::open(path);
    for (const auto& [name, entry] : earlier.entries) {
      const auto tensor = file().find(name);
      if (!tensor || matrices_of(tensor->shape) != entry.matrices || tensor->shape.columns() != entry.columns)
        throw_error(ErrorCode::kInvalidFile, "{}: {} with {} matrices of {} columns is not in {}", path.native(), name,
                    entry.matrices, entry.columns, model.info().path);
    }
    sums.add(earlier);
  }

  const Model& model;
  const ImportanceOptions options;
  Session session;
  SequenceId sequence = 0;
  std::string head_name;
  InputSums sums, reading;  // reading: of the window being read
  std::unordered_map<const Matrix*, Sums> by_matrix;
  std::optional<Sums> head;
};

ImportanceCollector::ImportanceCollector(const Model& model, ImportanceOptions options)
    : impl_(std::make_unique<Impl>(model, std::move(options))) {}
ImportanceCollector::~ImportanceCollector() = default;
ImportanceCollector::ImportanceCollector(ImportanceCollector&&) noexcept = default;

void ImportanceCollector::read(std::span<const TokenId> window) { impl_->read(window); }
void ImportanceCollector::add(const std::filesystem::path& earlier) { impl_->add(earlier); }
int64_t ImportanceCollector::windows() const noexcept { return impl_->sums.windows; }

std::vector<TensorImportance> ImportanceCollector::tensors() const {
  std::vector<TensorImportance> all;
  for (const auto& [name, entry] : impl_->sums.entries) {
    const auto [least, most] = std::ranges::minmax(entry.rows);
    if (most == 0) continue;
    const double rows = std::accumulate(entry.rows.begin(), entry.rows.end(), 0.0);
    const double squares = std::accumulate(entry.squares.begin(), entry.squares.end(), 0.0);
    all.push_back({.name = name,
                   .matrices = entry.matrices,
                   .columns = entry.columns,
                   .least_rows = static_cast<int64_t>(least),
                   .most_rows = static_cast<int64_t>(most),
                   .unseen = std::ranges::count(entry.rows, 0.0),
                   .mean_square = squares / rows / static_cast<double>(entry.columns)});
  }
  return all;
}

void ImportanceCollector::write(const std::filesystem::path& target, const std::string& text) const {
  InputSums sums = impl_->sums;
  std::erase_if(sums.entries, [](const auto& named) {
    return std::ranges::all_of(named.second.rows, [](double rows) { return rows == 0; });
  });
  if (std::ranges::count(sums.texts, text) == 0) sums.texts.push_back(text);
  sums.write(target, model_files(impl_->model.info().path));
}

}  // namespace ingle
