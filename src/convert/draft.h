// The file that is to be written, as a family's rules build it up from a folder: metadata, and for each tensor where
// its rows come from. No weight is read before the file is written.
#pragma once

#include <functional>
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

// Rows of q or k, head by head, from two halves (i, i + d/2) to adjacent pairs (2i, 2i + 1).
Rows paired(Rows rows, int64_t heads);
// Rows [first, first + count) of each matrix.
Rows part(Rows rows, int64_t first, int64_t count);
// Matrices of one shape made one tensor.
Rows stacked(std::vector<Rows> matrices);
// Every number plus `number`.
Rows plus(Rows rows, float number);
Rows numbers(std::vector<float> values);  // a vector that no tensor holds

struct DraftTensor {
  enum class Storage {
    kMatrix,  // in the type of the file
    kFloat,   // f32 always: norms, biases, routers
  };
  std::string name;
  Rows rows;
  Storage storage;
};

class Draft {
 public:
  Draft(const HfFolder& folder, std::string architecture);

  const HfConfig& config() const noexcept { return folder_.config(); }
  const std::string& architecture() const noexcept { return architecture_; }

  // Keys under the architecture's prefix.
  void count(std::string_view key, int64_t value);  // u32. Throws Error{kInvalidFile} below 0 or above 2^32 - 1
  void real(std::string_view key, double value);    // f32
  void flag(std::string_view key, bool value);
  // Any key.
  void set(std::string key, GgufValue value);

  bool has(std::string_view name) const { return folder_.find(name) != nullptr; }
  // Takes a tensor. Throws Error: kInvalidFile (absent, empty), kUnsupported (its type), naming it.
  Rows rows(std::string_view name);
  // A tensor that the file can do without.
  void ignore(std::string_view name) { taken_.insert(std::string(name)); }
  void ignore_all(std::string_view prefix);

  // Vectors, and what is `kFloat`, become f32.
  void add(std::string name, Rows rows, DraftTensor::Storage storage = DraftTensor::Storage::kMatrix);
  // PART.weight of the folder as NAME.weight, and PART.bias, if there is one, as NAME.bias.
  void linear(std::string_view name, std::string_view part);
  void linear(std::string_view name, std::string_view part, const std::function<Rows(Rows)>& change);

  // Throws Error{kUnsupported} that lists what nobody took.
  void finish() const;

  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<DraftTensor> tensors;

 private:
  const HfFolder& folder_;
  std::string architecture_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace ingle
