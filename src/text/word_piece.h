// WordPiece: a word becomes the longest piece at its front, then the longest at the front of the rest, and so on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"

namespace ingle {

// Immutable; may be used by many threads.
class WordPiece {
 public:
  // `first`: pieces a word may begin with; `next`: those that continue it, without their mark (##). A word of more than
  // `most_characters`, or one with a place where nothing matches, is `unknown` as a whole (-1: it is left out).
  WordPiece(std::vector<ByteTrie::Entry> first, std::vector<ByteTrie::Entry> next, int32_t unknown,
            size_t most_characters = 100);

  // Appends the ids of one word; not empty.
  void encode(std::string_view word, std::vector<int32_t>& out) const;

 private:
  ByteTrie first_, next_;
  int32_t unknown_;
  size_t most_characters_;
};

}  // namespace ingle
