// Writing GGUF v3 containers, whole or split, complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "gguf/value.h"

namespace ingle {

struct GgufWriteOptions {
  uint32_t alignment = 32;  // a power of two from 8 on
  // Limits of one shard, 0: none. A tensor larger than max_shard_bytes gets a shard of its own. When one shard suffices
  // the file is an ordinary one under the target's name, otherwise the shards are TARGET-00001-of-0000N.gguf.
  size_t max_shard_tensors = 0;
  uint64_t max_shard_bytes = 0;                  // of tensor data with its padding
  bool metadata_in_its_own_shard = false;        // only when a limit is set: the first shard then has no tensors
  std::vector<std::filesystem::path> keep = {};  // files that are being read: none of them is replaced
};

// Collects keys and tensors in the order they are to lie in the file; finish() writes them. One thread at a time.
class GgufWriter {
 public:
  // Takes the bytes of one tensor, in pieces of any size.
  using Sink = std::function<void(std::span<const std::byte>)>;
  // Called by finish() when it is this tensor's turn; must hand over exactly its bytes.
  using Source = std::function<void(const Sink& write)>;

  // Throws Error{kInvalidArgument} for an alignment that cannot be.
  explicit GgufWriter(std::filesystem::path target, GgufWriteOptions options = {});

  // Sets a key; one that is set already keeps its place and gets the new value. Throws Error{kInvalidArgument} for a
  // key that is empty or too long, a value that does not fit its type, and for `general.alignment` and `split.*`, which
  // the writer sets itself.
  void set(std::string_view key, const GgufValue& value);
  // set<uint32_t>("llama.block_count", 2)
  template <GgufElement T>
  void set(std::string_view key, std::type_identity_t<T> value) {
    set(key, gguf_value<T>(std::move(value)));
  }
  // set_array<float>("tokenizer.ggml.scores", {0.5f, 1.0f})
  template <GgufElement T>
  void set_array(std::string_view key, const std::type_identity_t<std::vector<T>>& elements) {
    set(key, gguf_array<T>(elements));
  }
  // All keys of another file but those the writer sets itself.
  void copy_metadata(const GgufFile& source);

  // Throws Error{kInvalidArgument}: a name that is empty, too long or taken, a shape that does not fit the type, a span
  // of another size. `bytes` must live until finish() returns.
  void add_tensor(std::string_view name, DType type, const Shape& shape, std::span<const std::byte> bytes);
  void add_tensor(std::string_view name, DType type, const Shape& shape, Source source);

  // Writes everything and returns the paths, in order. Once only. Throws Error: kIo (names file and cause),
  // kInvalidArgument (a path that is one of those to keep, before any source is called; a source of the wrong size, too
  // many shards), and whatever a source throws; then what was there before is still there, and no new file.
  std::vector<std::filesystem::path> finish();

 private:
  struct Tensor {
    std::string name;
    DType type;
    Shape shape;
    uint64_t bytes;
    Source source;
  };
  using Record = std::pair<std::string, std::string>;  // a key, and its type and value as they are in the file

  std::vector<std::span<const Tensor>> plan_shards() const;
  std::string encode_header(std::span<const Record> keys, std::span<const Tensor> tensors) const;
  std::vector<Record> shard_keys(size_t no, size_t count) const;

  std::filesystem::path target_;
  GgufWriteOptions options_;
  std::vector<Record> keys_;
  std::map<std::string, size_t, std::less<>> key_positions_;  // in keys_
  std::vector<Tensor> tensors_;
  std::unordered_set<std::string> tensor_names_;
  bool finished_ = false;
};

}  // namespace ingle
