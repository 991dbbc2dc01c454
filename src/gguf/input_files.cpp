#include "ingle/input_files.h"

#include <algorithm>

#include "base/error.h"
#include "gguf/split.h"

namespace ingle {

std::vector<std::filesystem::path> model_files(const std::filesystem::path& model) {
  std::vector<std::filesystem::path> files = {model};
  const auto name = gguf::parse_shard_name(model);
  const int64_t shards = name ? std::min(name->count, gguf::kMaxShards) : 0;
  for (int64_t number = 1; number <= shards; ++number) {
    if (number != name->number) files.push_back(gguf::shard_path(name->prefix, number, name->count));
  }
  return files;
}

void refuse_to_replace(const std::filesystem::path& target, std::span<const std::filesystem::path> inputs) {
  std::error_code ignored;  // of what cannot be examined nothing is the same
  if (!std::filesystem::is_regular_file(target, ignored)) return;
  for (const std::filesystem::path& input : inputs) {
    if (!std::filesystem::equivalent(target, input, ignored)) continue;
    if (input == target)
      throw_error(ErrorCode::kInvalidArgument, "{}: is a file to read, it cannot be the one to write", target.native());
    throw_error(ErrorCode::kInvalidArgument, "{}: is the file {}, which is read; it cannot be the one to write",
                target.native(), input.native());
  }
}

}  // namespace ingle
