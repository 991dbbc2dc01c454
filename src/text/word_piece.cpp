#include "text/word_piece.h"

#include <algorithm>

namespace ingle {

WordPiece::WordPiece(std::vector<ByteTrie::Entry> first, std::vector<ByteTrie::Entry> next, int32_t unknown,
                     size_t most_characters)
    : first_(std::move(first)), next_(std::move(next)), unknown_(unknown), most_characters_(most_characters) {}

void WordPiece::encode(std::string_view word, std::vector<int32_t>& out) const {
  const size_t before = out.size();
  const auto characters =
      std::count_if(word.begin(), word.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  bool good = static_cast<size_t>(characters) <= most_characters_;
  for (const ByteTrie* trie = &first_; good && !word.empty(); trie = &next_) {
    const ByteTrie::Match match = trie->longest(word);
    good = match.length > 0;
    if (good) out.push_back(match.value);
    word.remove_prefix(match.length);
  }
  if (good) return;
  out.resize(before);
  if (unknown_ >= 0) out.push_back(unknown_);
}

}  // namespace ingle
