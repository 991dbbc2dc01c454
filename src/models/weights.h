// A file's tensors as the parts of a model: found by name, checked against the shape the hyper-parameters ask for,
// packed for the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"
#include "base/read_ahead.h"
#include "gguf/gguf.h"

namespace ingle {

// Which rows of which tensor a matrix is made of. Of a tensor of several matrices rows count through all of them.
struct MatrixSource {
  std::string tensor;
  int64_t first_row = 0;
  bool transposed = false;  // those rows are its columns
  bool table = false;       // read row by row
};

// What a loaded model keeps: owns the matrices and vectors that its parts point at.
struct WeightStore {
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<MatrixSource> sources;        // of the matrices, one each
  std::vector<std::vector<float>> vectors;  // norms and biases; a vector's numbers do not move when this list grows
  size_t bytes() const noexcept;
};

struct LoadOptions {
  std::function<bool(double fraction)> progress;  // of the bytes of all tensors; false cancels
  std::function<void(std::string_view)> warn;
  bool drop_pages = true;  // what is packed is not needed in the mapping any more
  Packing packing = Packing::kAtLoad;
};

// Everything that is being loaded from one file; made once, seen through Weights.
class WeightLoader {
 public:
  // `file` must outlive `store`: tables are read in place.
  WeightLoader(const GgufFile& file, Backend& backend, WeightStore& store, LoadOptions options);

  // nullopt when absent. Throws Error{kInvalidFile} naming tensor, expected and actual shape.
  std::optional<ConstTensorView> find(const std::string& name, const Shape& shape);
  bool contains(const std::string& name) const { return file_.find(name).has_value(); }
  const Matrix* pack(const std::string& name, const ConstTensorView& w, MatrixSource source);
  // Of numbers outside the file.
  const Matrix* pack_copy(const std::string& name, const ConstTensorView& w, MatrixSource source);
  const Matrix* table(const std::string& name, const ConstTensorView& w);
  const float* vector(const std::string& name, const ConstTensorView& w);  // as f32
  const GgufFile& file() const noexcept { return file_; }
  // These tensors are known and not needed: nobody is warned about them.
  void skip(std::string_view prefix);
  // Tables are read row by row from now on. Warns about tensors that nobody asked for.
  void finish();

 private:
  void advance(const ConstTensorView& w);

  const GgufFile& file_;
  Backend& backend_;
  WeightStore& store_;
  LoadOptions options_;
  std::unordered_set<std::string> used_;
  std::vector<std::string> skipped_;  // prefixes
  std::vector<ConstTensorView> tables_;
  double total_bytes_ = 0, done_bytes_ = 0;
  ReadAhead read_ahead_;
};

// The tensors under one prefix. Every request names the shape it needs; a missing or misshapen tensor throws
// Error{kInvalidFile}, a format the device cannot use Error{kUnsupported}, a cancelled load Error{kCancelled}.
class Weights {
 public:
  explicit Weights(WeightLoader& loader, std::string prefix = {}) : loader_(&loader), prefix_(std::move(prefix)) {}
  // "attn_q" in here reads "blk.<i>.attn_q.weight".
  Weights block(int64_t i) const { return Weights(*loader_, fmt::format("{}blk.{}.", prefix_, i)); }

  const GgufFile& file() const noexcept { return loader_->file(); }
  bool has(std::string_view name) const { return loader_->contains(weight_name(name)); }
  // NAME.weight [out, in], and NAME.bias [out] where there is one.
  Linear linear(std::string_view name, int64_t in, int64_t out) const;
  // NAME.weight [in], or [1, in]: a matrix of one row.
  Linear row(std::string_view name, int64_t in) const;
  // Rows [first, first + count) of the same matrix and bias, as one of their own.
  Linear linear_part(std::string_view name, int64_t in, int64_t out, int64_t first, int64_t count) const;
  // NAME.weight [count, out, in], and NAME.bias [count, out] where there is one: a matrix for each expert (or stream),
  // of it the rows [first, first + rows).
  std::vector<Linear> linears(std::string_view name, int64_t count, int64_t in, int64_t out) const {
    return linears_part(name, count, in, out, 0, out);
  }
  std::vector<Linear> linears_part(std::string_view name, int64_t count, int64_t in, int64_t out, int64_t first,
                                   int64_t rows) const;
  // The same, or the matrix `other` (already in use as a table) where NAME.weight is absent: tied weights.
  Linear linear_or(std::string_view name, std::string_view other, int64_t in, int64_t out) const;
  // Rows [first, first + out) of NAME.weight [rows, in], turned: [in, out] of them as a matrix from `out` to `in`
  // numbers. A copy in f32: blocks of quantised formats lie along rows.
  Linear transposed_part(std::string_view name, int64_t in, int64_t rows, int64_t first, int64_t out) const;
  // NAME.bias; nullptr when absent.
  const float* find_bias(std::string_view name, int64_t size) const { return find_bias(name, Shape{size}); }
  // NAME.weight [rows, columns], read row by row.
  const Matrix* table(std::string_view name, int64_t columns, int64_t rows) const;
  Norm norm(std::string_view name, int64_t size, float eps) const;
  // Tensors whose name goes on with `prefix` are known and not needed.
  void skip(std::string_view prefix) const { loader_->skip(prefix_ + std::string(prefix)); }
  // NAME.weight and NAME.bias [size]: a centred norm.
  Norm layer_norm(std::string_view name, int64_t size, float eps) const;
  std::optional<Norm> find_norm(std::string_view name, int64_t size, float eps) const;
  int64_t rows_of(std::string_view name) const;      // of NAME.weight, for a size that no hyper-parameter gives
  int64_t elements_of(std::string_view name) const;  // of NAME.weight; 0 when absent
  std::span<const float> find_vector(std::string_view name, int64_t size) const;  // NAME.weight; empty when absent
  std::span<const float> find_scales(std::string_view name, int64_t size) const;  // NAME.scale; empty when absent

 private:
  const float* find_bias(std::string_view name, const Shape& shape) const;
  std::span<const float> find_numbers(const std::string& full_name, const Shape& shape) const;
  std::string weight_name(std::string_view name) const { return fmt::format("{}{}.weight", prefix_, name); }
  ConstTensorView require(const std::string& full_name, const Shape& shape) const;

  WeightLoader* loader_;
  std::string prefix_;
};

}  // namespace ingle
