// Reading GGUF v2/v3 containers, split or whole. Every byte of a file is hostile until checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace ingle {

// One metadata value. Integers keep their sign and are widened to 64 bits; arrays are homogeneous (nesting is refused).
struct GgufValue {
  enum class Type : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };
  using Array =
      std::variant<std::vector<uint64_t>, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;
  Type type = Type::kU8;          // as in the file
  Type element_type = Type::kU8;  // of an array (kBool elements are stored as uint64_t 0 or 1)
  std::variant<uint64_t, int64_t, double, bool, std::string, Array> value;
};

struct GgufTensor {
  std::string name;
  ConstTensorView view;  // into the mapping; valid while the GgufFile lives
  int shard = 0;
  uint64_t file_offset = 0;
};

// What a file that only exists in memory consists of: GgufFile::generate().
struct GgufRecipe {
  struct Tensor {
    std::string name;
    DType type = DType::kF32;
    Shape shape;
    bool lasting = false;  // drop() leaves it alone: for what is read in place as long as the file lives
  };
  std::string name;                                         // for messages, in place of a path
  std::vector<std::pair<std::string, GgufValue>> metadata;  // in order, names unique
  std::vector<Tensor> tensors;
  // Writes all bytes of tensors[index], the same whenever it is called; one call at a time, must not throw. Empty: the
  // tensors are zeros and take no memory.
  std::function<void(size_t index, std::span<std::byte> bytes)> fill;
};

// A GGUF file (and its sibling shards) mapped into memory. Views it hands out are valid while it lives. Const methods
// are thread-safe.
class GgufFile {
 public:
  // Checks header, metadata and the extent of every tensor before returning.
  // Throws Error: kNotFound, kIo, kInvalidFile (names the key or tensor, and the offset), kUnsupported (version, byte
  // order, tensor type, array of arrays), kOutOfMemory.
  static GgufFile open(const std::filesystem::path& path);
  // The same checks on bytes in memory (tests, fuzzers); `bytes` must outlive the result. Split files are refused.
  static GgufFile parse(std::span<const std::byte> bytes, std::string_view name);

  // A file that is nowhere: a tensor's bytes are made when find() is asked for it, and again after all of it went
  // through drop(); what tensors() lists holds numbers only after find(). Throws Error: kInvalidArgument (a shape that
  // does not fit its type, a name that is there twice), kOutOfMemory (address space).
  static GgufFile generate(GgufRecipe recipe);

  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile();

  const std::string& path() const noexcept;
  uint32_t version() const noexcept;
  uint64_t file_bytes() const noexcept;  // all shards
  uint64_t alignment() const noexcept;

  // Metadata in file order.
  std::span<const std::pair<std::string, GgufValue>> metadata() const noexcept;
  const GgufValue* find_value(std::string_view key) const noexcept;
  // nullopt when absent. A value of another kind, or outside int64, throws kInvalidFile naming key, expected and actual
  // type. Integers of any width and (for floats) f32/f64 are interchangeable.
  std::optional<int64_t> find_int(std::string_view key) const;
  std::optional<double> find_float(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  // Arrays; a scalar is not an array.
  std::optional<std::vector<int64_t>> find_ints(std::string_view key) const;   // also of bools
  std::optional<std::vector<double>> find_floats(std::string_view key) const;  // also of integers
  std::optional<std::span<const std::string>> find_strings(std::string_view key) const;
  // The same, required: throws kInvalidFile "key missing".
  int64_t get_int(std::string_view key) const;
  double get_float(std::string_view key) const;
  std::string_view get_string(std::string_view key) const;

  // Tensors in file order, shard by shard.
  std::span<const GgufTensor> tensors() const noexcept;
  // Row-major, last dimension contiguous, still in the file's format; nullopt when absent.
  std::optional<ConstTensorView> find(std::string_view name) const noexcept;
  int64_t parameter_count() const noexcept;  // elements, not bytes

  // What is mapped from the view's first byte to the end of its file; empty where no file is.
  std::span<const std::byte> mapped_from(const ConstTensorView& view) const noexcept;
  // Tells the system that this part of the mapping is not needed any more (after packing); reading it again is still
  // valid.
  void drop(const ConstTensorView& view) const noexcept;
  // Drops it, and from now on reads of it only the pages that are touched: for a table of which few rows are used.
  void read_row_by_row(const ConstTensorView& view) const noexcept;

 private:
  struct State;
  explicit GgufFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ingle
