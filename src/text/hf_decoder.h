// The "decoder" of a tokenizer.json: from the texts of tokens back to text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "text/json_document.h"

namespace ingle {

struct HfDecoded {
  std::string text;
  bool added = false;  // an added token's text is no bytes in the byte-level alphabet
};

// Immutable; may be used by many threads.
class HfDecoder {
 public:
  HfDecoder() = default;  // texts with a space between them, as the library joins them when a file has no decoder
  // Throws Error: kInvalidFile, kUnsupported, each naming the place.
  explicit HfDecoder(JsonValue json);

  // Whether a space at the front of a whole text is taken away.
  bool strips_leading_space() const noexcept { return strips_leading_space_; }

  // The whole text. Bytes that are no UTF-8 stay as they are.
  std::string decode(std::vector<HfDecoded> tokens) const;
  // What one token adds in the middle of a text.
  std::string piece(HfDecoded token) const;

 private:
  // `whole`: the first of `tokens` is the text's first, the last its last.
  using Step = std::function<void(std::vector<HfDecoded>& tokens, bool whole)>;

  void read(JsonValue json);

  std::vector<Step> steps_;
  bool joins_by_space_ = true;
  bool strips_leading_space_ = false;
};

}  // namespace ingle
