#include "gguf/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace ingle::gguf {
namespace {

constexpr size_t kDigits = 5;

std::optional<int64_t> parse_number(std::string_view digits) {
  int64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

std::optional<ShardName> parse_shard_name(const std::filesystem::path& path) {
  constexpr std::string_view kPattern = "-ddddd-of-ddddd.gguf";
  const std::string name = path.filename().native();
  if (name.size() < kPattern.size()) return std::nullopt;
  const std::string_view tail = std::string_view(name).substr(name.size() - kPattern.size());
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf") return std::nullopt;
  const auto number = parse_number(tail.substr(1, kDigits));
  const auto count = parse_number(tail.substr(10, kDigits));
  if (!number || !count) return std::nullopt;
  const std::string prefix = name.substr(0, name.size() - kPattern.size());
  return ShardName{path.parent_path() / prefix, *number, *count};
}

std::filesystem::path shard_path(const std::filesystem::path& prefix, int64_t number, int64_t count) {
  std::filesystem::path path = prefix;
  path += fmt::format("-{:05}-of-{:05}.gguf", number, count);
  return path;
}

}  // namespace ingle::gguf
