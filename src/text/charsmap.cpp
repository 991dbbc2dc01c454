// A node: bits 10-30 and 9 its offset, bit 8 "a value follows", bits 0-7 and 31 its label. Reading stops at whatever
// leads outside, so a damaged map replaces less, and never reads elsewhere.
#include "text/charsmap.h"

#include <cstring>

#include "base/error.h"

namespace ingle {
namespace {

constexpr size_t offset(uint32_t node) noexcept { return size_t{node >> 10} << ((node & 0x200u) >> 6); }
constexpr uint32_t label(uint32_t node) noexcept { return node & 0x800000FFu; }
constexpr bool has_value(uint32_t node) noexcept { return (node & 0x100u) != 0; }

// Real maps know strings of a few characters. Without a bound every place of a text could cost the whole text.
constexpr size_t kLongestKey = 256;
// The longest there is has 33 bytes (U+FDFA in NFKC). A file must not make a megabyte out of every character.
constexpr size_t kLongestReplacement = 256;

}  // namespace

Charsmap::Charsmap(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() < sizeof(size))
    throw_error(ErrorCode::kInvalidFile, "tokenizer.ggml.precompiled_charsmap: {} bytes, too short for its size",
                bytes.size());
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes.remove_prefix(sizeof(size));
  if (size == 0 || size % sizeof(uint32_t) != 0 || size >= bytes.size())
    throw_error(ErrorCode::kInvalidFile, "tokenizer.ggml.precompiled_charsmap: a trie of {} bytes in {}", size,
                bytes.size());
  nodes_.resize(size / sizeof(uint32_t));
  std::memcpy(nodes_.data(), bytes.data(), size);
  strings_ = bytes.substr(size);
}

std::optional<Charsmap::Match> Charsmap::longest(std::string_view text) const noexcept {
  std::optional<Match> match;
  size_t at = offset(nodes_[0]);
  for (size_t i = 0; i < text.size() && i < kLongestKey; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= nodes_.size() || label(nodes_[at]) != byte) break;
    const bool valued = has_value(nodes_[at]);
    at ^= offset(nodes_[at]);
    if (!valued) continue;
    if (at >= nodes_.size()) break;
    const size_t begin = nodes_[at] & 0x7FFFFFFFu;
    if (begin >= strings_.size()) continue;
    const std::string_view area = std::string_view(strings_).substr(begin, kLongestReplacement + 1);
    if (const size_t end = area.find('\0'); end != area.npos) match = {i + 1, area.substr(0, end)};
  }
  return match;
}

}  // namespace ingle
