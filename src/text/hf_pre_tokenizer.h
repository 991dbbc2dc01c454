// The "pre_tokenizer" of a tokenizer.json, step by step as it is written: cuts a text into the pieces the model sees.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/file_regex.h"
#include "text/hf_description.h"
#include "text/hf_pattern.h"

namespace ingle {

// A text and its pieces, in order, not empty, without overlap; what lies between them has been dropped.
struct HfPieces {
  std::string text;
  std::vector<TextRange> pieces;
  bool at_start;  // the first piece begins where the whole text, special tokens and all, begins
};

// Immutable; may be used by many threads.
class HfPreTokenizer {
 public:
  // Throws Error: kInvalidFile, kUnsupported for expressions.
  explicit HfPreTokenizer(std::vector<HfPreStep> steps);

  // Makes pieces of the one piece there is, the whole (valid UTF-8).
  void apply(HfPieces& pieces, FileRegex::Scratch& scratch) const;

 private:
  struct Step {
    HfPreStep what;
    std::optional<HfPattern> pattern;
  };

  void apply(const Step& step, HfPieces& pieces, FileRegex::Scratch& scratch) const;

  std::vector<Step> steps_;
};

}  // namespace ingle
