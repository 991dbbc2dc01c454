// Reading one container file: every record checked against the bytes that are really there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "gguf/name_index.h"

namespace ingle::gguf {

// What one file says. Tensor views point into the bytes it was read from.
struct Shard {
  uint32_t version = 0;
  uint64_t alignment = 0;
  std::vector<std::pair<std::string, GgufValue>> metadata;  // in file order, names unique
  NameIndex metadata_order;
  std::vector<GgufTensor> tensors;  // in file order; names may repeat
};

// `file` is the name for messages, `shard` goes into each GgufTensor. Takes time n log n and memory that is bounded by
// a small multiple of `bytes` and by 1 GiB. Throws Error: kInvalidFile, kUnsupported.
Shard read_shard(std::span<const std::byte> bytes, std::string_view file, int shard);

}  // namespace ingle::gguf
