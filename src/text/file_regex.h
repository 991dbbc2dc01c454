// A regular expression that a file brings, in Oniguruma's notation, run by PCRE2 with limits on effort.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

// What of Oniguruma's notation means something else in PCRE2, rewritten: \s \w \d \h \b, \p{Han}, \uHHHH, nested and
// intersected classes, (?m). The result is canonical: two spellings of one class give one text.
// Throws Error{kUnsupported} for what PCRE2 cannot say alike (back references, absent operator, \X ...).
std::string pcre2_from_oniguruma(std::string_view pattern);

struct TextRange {
  size_t begin, end;
};

// Immutable; may be used by many threads.
class FileRegex {
 public:
  // Throws Error: kUnsupported as above, kInvalidFile when it is no expression.
  explicit FileRegex(std::string_view pattern);
  FileRegex(FileRegex&&) noexcept;
  FileRegex& operator=(FileRegex&&) noexcept;
  ~FileRegex();

  // Memory for matching, one per thread.
  class Scratch {
   public:
    Scratch();
    Scratch(const Scratch&) = delete;
    ~Scratch();

   private:
    friend class FileRegex;
    struct State;
    std::unique_ptr<State> state_;
  };

  // Appends the matches in `text` (valid UTF-8), leftmost first, without overlap; some may be empty, but never two at
  // one place, nor one at the end of the match before. Throws Error{kInvalidArgument} when the expression costs too
  // much on this text.
  void find_all(std::string_view text, Scratch& scratch, std::vector<TextRange>& matches) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace ingle
