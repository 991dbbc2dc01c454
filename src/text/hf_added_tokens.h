// Cutting added tokens out of a text as Hugging Face's tokenizers do, with all their flags.
#pragma once

#include <string_view>
#include <vector>

#include "text/hf_description.h"
#include "text/special_tokens.h"

namespace ingle {

// One of the two passes: over the raw text, or over what the normaliser made of it. Immutable.
class HfAddedTokens {
 public:
  // `texts`: what is looked for, one for each token, not empty.
  HfAddedTokens(std::vector<HfAddedToken> tokens, const std::vector<std::string>& texts);

  bool empty() const noexcept { return tokens_.empty(); }

  // Appends the fragments of `text` in order; those of text are not empty. A match that does not count (a special token
  // while they are not wanted, a word's part) still keeps others from starting inside it.
  void split(std::string_view text, bool parse_special, std::vector<TextFragment>& out) const;

 private:
  std::vector<HfAddedToken> tokens_;
  SpecialTokenMatcher matcher_;
};

}  // namespace ingle
