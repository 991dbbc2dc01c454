// A sequence in a file: what it belongs to, its tokens, its cache blocks, and what the caller keeps with it.
//
//   "INGLESEQ" | version u32 | precision u32 | file bytes u64 | model fingerprint u64
//   architecture | model name | backend | type of keys | type of values          (strings: length u64, bytes)
//   long rope u32 | adapters u32
//   per adapter: name (string), fingerprint u64, scale f32
//   groups u32
//   per group: layers, window, kv heads, k size, v size, bytes of a block, first block, blocks       (8 x i64)
//   positions computed i64 | tokens u64 | token ids i32...
//   attachment (string)
//   the blocks of each group, as they lie in the cache (kernels/kv_cache.inl, the same on every instruction set), zeros
//     at positions that were not computed
//   XXH64 of everything before u64
//
// All numbers are little-endian. A change of this, or of how a cache block lies, takes another version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "runtime/kv_cache.h"

namespace ingle {

// What the numbers in a cache depend on.
struct StateOwner {
  uint64_t fingerprint = 0;  // of the model
  std::string architecture, model, backend, cache_type_k, cache_type_v;
  bool exact = false;
  bool long_rope = false;  // keys turn by the factors for long texts
  struct Adapter {
    std::string name;
    uint64_t fingerprint = 0;
    float scale = 0;
  };
  std::vector<Adapter> adapters;       // in force, in order
  std::vector<KvGroupOptions> groups;  // as far as a block's form goes
};

// A state file's contents, borrowed from its bytes. Group g has the blocks first[g], first[g] + 1, ... of its sequence.
struct StateFile {
  StateOwner owner;
  std::vector<int32_t> tokens;
  int64_t computed = 0;
  std::vector<int64_t> first;                      // [groups]
  std::vector<std::span<const std::byte>> blocks;  // [groups], one after the other
  std::string_view attachment;
};

// Checks magic, version, size, checksum and every number. `name` is for messages. Throws Error: kInvalidFile,
// kUnsupported (version).
StateFile parse_state(std::span<const std::byte> bytes, std::string_view name);

// Throws Error{kInvalidArgument} that says what differs first.
void check_owner(const StateOwner& kept, const StateOwner& here, std::string_view name);

// What is written depends on the sequence alone: behind its end the last block holds zeros. `backend` is the cache's.
// Throws Error{kIo}.
void write_state(const std::filesystem::path& path, const StateOwner& owner, const KvCache& cache, int32_t id,
                 std::string_view attachment, const Backend& backend);

}  // namespace ingle
