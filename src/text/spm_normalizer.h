// SentencePiece's normaliser: replacements by a character map, white space, and the mark for spaces.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/byte_trie.h"
#include "text/charsmap.h"

namespace ingle {

// Immutable; may be used by many threads.
struct SpmNormalizer {
  std::optional<Charsmap> charsmap;
  ByteTrie user_defined;                 // texts that are left as they are, whatever the map says
  bool remove_extra_whitespaces = true;  // runs become one space; none at either end
  bool add_space_prefix = true;
  bool space_is_suffix = false;  // the added space stands at the end

  // `text` may be any bytes; a bad one becomes U+FFFD. Spaces come out as U+2581.
  std::string normalize(std::string_view text) const;
};

}  // namespace ingle
