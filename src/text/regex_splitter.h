// Splitting text with a Unicode regular expression: a scanner written by hand where there is one for the expression,
// else PCRE2, compiled to machine code where it can be, always with limits.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

// An expression is immutable and may be used by many threads.
class RegexSplitter {
 public:
  // `pattern` is in the notation of Hugging Face's tokenizers: \s and \S mean White_Space as Unicode has it, $ only the
  // very end. With `in_threes` a match of n characters is cut in groups of three from its right end.
  // `engine` is for tests, which compare the two.
  enum class Engine { kFastest, kRegex };
  explicit RegexSplitter(std::string_view pattern, bool in_threes = false, Engine engine = Engine::kFastest);
  RegexSplitter(RegexSplitter&&) noexcept;
  RegexSplitter& operator=(RegexSplitter&&) noexcept;
  ~RegexSplitter();

  // Memory for matching, one per thread; cheap to make.
  class Scratch {
   public:
    Scratch();
    Scratch(Scratch&&) = delete;
    ~Scratch();

   private:
    friend class RegexSplitter;
    void* match_data_;
    void* match_context_;
  };

  // Appends the end of each piece of text[begin, end): matches, and the gaps between them. The part is matched by
  // itself; what stands around it is not seen. It must be valid UTF-8. Throws Error{kInvalidArgument} when the limits
  // of matching are reached (tables in use here do not: see the tests).
  void split(std::string_view text, size_t begin, size_t end, Scratch& scratch, std::vector<size_t>& ends) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace ingle
