// The file that is to be written, as a family's rules build it up from a folder: metadata, and for each tensor where
// its rows come from. No weight is read before the file is written.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/hf_folder.h"
#include "gguf/value.h"

namespace ingle {

// A matrix (or a stack of them, or a vector) that can be read row by row, as numbers.
struct Rows {
  Shape shape;
  // Rows [first, first + count) one after the other; any thread.
  std::function<void(int64_t first, int64_t count, float* out)> read;
  std::vector<const SafeTensor*> sources;
};

// Those of a readable tensor, and the same with every number a row.
Rows rows_of(const SafeTensor& tensor);
Rows elements_of(const SafeTensor& tensor);
// Rows of q or k, head by head, from two halves (i, i + d/2) to adjacent pairs (2i, 2i + 1).
Rows paired(Rows rows, int64_t heads);
// Rows [first, first + count) of each matrix.
Rows part(Rows rows, int64_t first, int64_t count);
// Matrices, or vectors, of one shape made one tensor. Throws Error{kInvalidFile} when they are stacks themselves.
Rows stacked(std::vector<Rows> matrices);
// Every number plus, or times, `number`.
Rows plus(Rows rows, float number);
Rows times(Rows rows, float number);
Rows numbers(std::vector<float> values);  // a vector that no tensor holds
// Rows up to `count`: those that are missing are the first one again.
Rows filled_up(Rows rows, int64_t count);

// Columns first, first + step, ... of matrices of `rows` by `columns`, each `apart` elements after the one before.
struct Columns {
  int64_t matrices, apart, rows, columns;
  int64_t first = 0, step = 1;
};
// They as rows: [matrices, columns / step, rows]. `elements` is of rows of one number. Throws Error{kInvalidFile} when
// it has too few.
Rows transposed(Rows elements, const Columns& columns);

// Rows whose bytes the folder has as a file wants them, but for their order.
struct PackedRows {
  DType type;
  std::function<void(int64_t first, int64_t count, std::byte* out)> read;  // any thread
};

struct DraftTensor {
  enum class Storage {
    kMatrix,  // in the type of the file
    kFloat,   // f32 always: norms, biases, routers
  };
  std::string name;
  Rows rows;  // of packed ones only the shape and the sources
  Storage storage;
  std::optional<PackedRows> packed;  // in no other type then
};

// Throws Error{kUnsupported} that lists tensors of `folder` which `whose` has no place for; nothing when there are
// none.
void refuse_left_over(const std::filesystem::path& folder, std::vector<std::string_view> names, std::string_view whose);

class Draft {
 public:
  Draft(const HfFolder& folder, std::string architecture);

  const HfConfig& config() const noexcept { return folder_.config(); }
  const std::string& architecture() const noexcept { return architecture_; }

  // A setting that says how many layers, or others of a kind, there are: at least one, and no more than the folder has
  // tensors. Throws Error{kInvalidFile}.
  int64_t repeats(std::string_view key) const;

  // Keys under the architecture's prefix.
  void count(std::string_view key, int64_t value);  // u32. Throws Error{kInvalidFile} below 0 or above 2^32 - 1
  void real(std::string_view key, double value);    // f32
  void flag(std::string_view key, bool value);
  // A value for each layer.
  template <class T>
  void per_layer(std::string_view key, const std::vector<T>& values) {
    set(architecture_ + '.' + std::string(key), gguf_array<T>(values));
  }
  // Any key; one that is set already gets the new value.
  void set(std::string key, GgufValue value);

  bool has(std::string_view name) const { return folder_.find(name) != nullptr; }
  // Takes a tensor. Throws Error: kInvalidFile (absent, empty), kUnsupported (its type), naming it.
  Rows rows(std::string_view name);
  Rows elements(std::string_view name);               // the same, every number a row
  const SafeTensor& bytes_of(std::string_view name);  // of a tensor of U8
  // A tensor that the file can do without.
  void ignore(std::string_view name) { taken_.insert(std::string(name)); }
  // Tensors of another part of the model, which the file is not of: they are counted.
  void leave_out(std::string_view prefix);

  // Vectors, and what is `kFloat`, become f32.
  void add(std::string name, Rows rows, DraftTensor::Storage storage = DraftTensor::Storage::kMatrix);
  void add(std::string name, Shape shape, PackedRows packed, std::vector<const SafeTensor*> sources);
  // PART.weight of the folder as NAME.weight, and PART.bias, if there is one, as NAME.bias.
  void linear(std::string_view name, std::string_view part);
  void linear(std::string_view name, std::string_view part, const std::function<Rows(Rows)>& change);

  // Throws Error{kUnsupported} that lists what nobody took.
  void finish() const;

  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<DraftTensor> tensors;
  int64_t left_out = 0;
  std::vector<std::string> notes;  // what the folder says and the file cannot

 private:
  const SafeTensor& take(std::string_view name);
  const SafeTensor& take_readable(std::string_view name);

  const HfFolder& folder_;
  std::string architecture_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace ingle
