// Models cut into several files: PREFIX-00001-of-00003.gguf and its siblings. The numbers in a name count from 1,
// `split.no` in the metadata from 0. Names of siblings are made from the path the user gave, never from what a file
// says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ingle::gguf {

inline constexpr int64_t kMaxShards = 65535;  // split.count is u16

struct ShardName {
  std::filesystem::path prefix;  // with the folder
  int64_t number = 0;            // from 1
  int64_t count = 0;
};

// nullopt when the name does not follow the pattern.
std::optional<ShardName> parse_shard_name(const std::filesystem::path& path);
std::filesystem::path shard_path(const std::filesystem::path& prefix, int64_t number, int64_t count);

}  // namespace ingle::gguf
