// {"String": "..."} or {"Regex": "..."}: what Split and Replace look for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/file_regex.h"
#include "text/json_document.h"

namespace ingle {

// Immutable; may be used by many threads.
class HfPattern {
 public:
  // The empty text matches everywhere. Throws Error: kInvalidFile, kUnsupported for an expression.
  HfPattern(std::string text, bool is_regex);
  // The same, naming the place in the file.
  static HfPattern read(JsonValue json);

  const std::string& text() const noexcept { return text_; }
  bool is_regex() const noexcept { return is_regex_; }

  bool is_literal(std::string_view text) const noexcept { return !is_regex_ && text_ == text; }

  // Appends the matches, as FileRegex::find_all does.
  void find_all(std::string_view text, FileRegex::Scratch& scratch, std::vector<TextRange>& matches) const;
  // Each match becomes `with`.
  void replace(std::string& text, std::string_view with, FileRegex::Scratch& scratch) const;

 private:
  std::string text_;
  bool is_regex_;
  std::optional<FileRegex> regex_;
};

}  // namespace ingle
