// SentencePiece's compiled character map: strings and what they are replaced by, as a double-array trie in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

// Immutable; may be used by many threads.
class Charsmap {
 public:
  // `bytes` as in tokenizer.ggml.precompiled_charsmap: u32 size of the trie, its nodes, NUL-terminated strings. Copies.
  // Throws Error{kInvalidFile} when the sizes do not fit; a node that points outside is found when a walk comes to it.
  explicit Charsmap(std::string_view bytes);

  struct Match {
    size_t length;  // bytes of the text that are replaced
    std::string_view replacement;
  };
  // The longest string of the map at the front of `text`; nullopt when there is none.
  std::optional<Match> longest(std::string_view text) const noexcept;

 private:
  std::vector<uint32_t> nodes_;
  std::string strings_;
};

}  // namespace ingle
