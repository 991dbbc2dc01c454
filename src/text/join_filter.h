// Where byte-pair merging can never join: a word may be cut there and its parts merged by themselves. Chinese, which
// has no spaces, falls into pieces of a few characters that way, short enough to be found in a cache.
//
// Two neighbours are joined across a border only by a merge whose left text ends, and whose right text begins, like the
// text around the border. The filter remembers those ends for every merge: three bytes on either side (a CJK
// character), or one where a side is shorter than three. It may say "may join" where nothing does, never the reverse.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/token_map.h"

namespace ingle {

// Filled once, then immutable and thread-safe.
class JoinFilter {
 public:
  void add(std::string_view left, std::string_view right) {
    if (left.empty() || right.empty()) return;
    const bool whole_left = left.size() >= kSide, whole_right = right.size() >= kSide;
    set(whole_left ? last(left, left.size()) : byte(left.back()), whole_right ? first(right, 0) : byte(right.front()));
  }

  // The end of the part of `word` that begins at `begin`: the next border before a character of several bytes where
  // nothing can join, or the word's end.
  size_t part_end(std::string_view word, size_t begin) const noexcept {
    for (size_t i = begin + kSide; i + kSide <= word.size(); ++i) {
      if (static_cast<unsigned char>(word[i]) >= 0xE0 && !may_join(word, i)) return i;
    }
    return word.size();
  }

 private:
  static constexpr size_t kSide = 3;
  static constexpr size_t kBits = 1 << 21;  // 256 KiB; the 150,000 merges of Qwen 3 set at most 7 % of them

  static uint32_t byte(char c) noexcept { return static_cast<unsigned char>(c); }
  // Three bytes, told from a single one by the top bit.
  static uint32_t first(std::string_view text, size_t at) noexcept {
    return 1u << 31 | byte(text[at]) | byte(text[at + 1]) << 8 | byte(text[at + 2]) << 16;
  }
  static uint32_t last(std::string_view text, size_t end) noexcept { return first(text, end - kSide); }

  static size_t slot(uint32_t left, uint32_t right) noexcept {
    return token_map_detail::mix(uint64_t{left} << 32 | right) >> 8 & (kBits - 1);
  }
  void set(uint32_t left, uint32_t right) {
    if (bits_.empty()) bits_.resize(kBits / 64);
    const size_t n = slot(left, right);
    bits_[n / 64] |= uint64_t{1} << (n % 64);
  }
  bool has(uint32_t left, uint32_t right) const noexcept {
    const size_t n = slot(left, right);
    return (bits_[n / 64] >> (n % 64) & 1) != 0;
  }
  bool may_join(std::string_view text, size_t at) const noexcept {
    if (bits_.empty()) return false;
    const uint32_t left = last(text, at), right = first(text, at);
    const uint32_t left_byte = byte(text[at - 1]), right_byte = byte(text[at]);
    return has(left, right) || has(left, right_byte) || has(left_byte, right) || has(left_byte, right_byte);
  }

  std::vector<uint64_t> bits_;
};

}  // namespace ingle
