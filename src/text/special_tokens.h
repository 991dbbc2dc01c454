// Cutting special tokens out of a text: leftmost match first, at one place the longest, in time linear in the text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"

namespace ingle {

struct SpecialToken {
  std::string_view text;  // not empty
  int32_t id;
  bool strip_left = false;   // takes the white space before it along
  bool strip_right = false;  // and after it
};

// Without the White_Space at one end.
std::string_view trim_left(std::string_view text) noexcept;
std::string_view trim_right(std::string_view text) noexcept;

// A piece of text between special tokens, or one of them (then `token` >= 0 and `text` is empty).
struct TextFragment {
  std::string_view text;
  int32_t token = -1;
};

// Immutable after construction. Copies what it needs of the tokens.
class SpecialTokenMatcher {
 public:
  explicit SpecialTokenMatcher(const std::vector<SpecialToken>& tokens);

  // Fragments in order; those of text are not empty. Their views point into `text`.
  std::vector<TextFragment> split(std::string_view text) const;

  struct Match {
    size_t begin, size;
    uint32_t index;  // in the list the matcher was made of
  };
  // The matches alone, in order, without overlap; nothing is stripped.
  std::vector<Match> matches(std::string_view text) const;

 private:
  struct Node {
    uint32_t fail = 0;
    int32_t token = -1;  // index in tokens_ of the longest token that is a suffix of the node's path
  };
  struct Entry {
    int32_t id;
    size_t size;
    bool strip_left, strip_right;
  };
  struct Find {
    size_t begin;
    int32_t token;
  };

  std::vector<Find> finds(std::string_view text) const;
  uint32_t step(uint32_t node, unsigned char byte) const noexcept;

  std::vector<Entry> tokens_;
  ByteTrie trie_;            // of the tokens from back to front
  std::vector<Node> nodes_;  // by the trie's
};

}  // namespace ingle
