// The "normalizer" of a tokenizer.json: what is done to text before it is cut into words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/file_regex.h"
#include "text/json_document.h"

namespace ingle {

// Immutable; may be used by many threads.
class HfNormalizer {
 public:
  HfNormalizer() = default;  // changes nothing
  // Throws Error: kInvalidFile, kUnsupported, each naming the place.
  explicit HfNormalizer(JsonValue json);

  bool empty() const noexcept { return steps_.empty(); }
  // Whether all it does is to write U+2581 for every space.
  bool only_marks_spaces() const noexcept { return steps_.size() == 1 && marks_spaces_; }
  // Whether no space is left when it is through.
  bool marks_spaces() const noexcept { return marks_spaces_; }

  // `text` must be valid UTF-8. Throws Error{kInvalidArgument} when the result grows without measure.
  void apply(std::string& text, FileRegex::Scratch& scratch) const;

 private:
  using Step = std::function<void(std::string& text, FileRegex::Scratch& scratch)>;

  void read(JsonValue json);
  Step read_step(std::string_view type, JsonValue json);

  std::vector<Step> steps_;
  bool marks_spaces_ = false;  // by the last step
};

}  // namespace ingle
