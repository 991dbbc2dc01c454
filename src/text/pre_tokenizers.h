// How a byte-level BPE model cuts text into words before merging: one row of a table per family of models.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex_splitter.h"

namespace ingle {

struct PreTokenizerFlags {
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges say
  bool add_bos = false;
  bool add_separator = false;
  bool no_bos = false;       // the model has no default bos
  bool nfc = false;          // text is normalised first
  bool raw_utf8 = false;     // characters, not bytes, are merged; spaces are U+2581
  bool mask_strips = false;  // <mask> takes the white space before it along
};

// Immutable; may be used by many threads.
class PreTokenizer {
 public:
  // `pre` as in tokenizer.ggml.pre. Throws Error{kUnsupported} naming it and all that are known.
  static PreTokenizer create(std::string_view pre);

  // The same way of cutting with other flags.
  PreTokenizer with_flags(const PreTokenizerFlags& flags) &&;
  // Cuts nothing.
  static PreTokenizer whole(const PreTokenizerFlags& flags) { return PreTokenizer(flags, {}); }
  // The name of the row that applies these expressions, in Hugging Face's notation and however spelt, one after
  // another; of several the one with these two flags, else the first. Empty when there is none.
  static std::string_view recognise(const std::vector<std::string>& expressions, bool ignore_merges, bool nfc);

  const PreTokenizerFlags& flags() const noexcept { return flags_; }

  // Memory for one thread's splitting.
  struct Scratch {
    RegexSplitter::Scratch regex;
    std::vector<size_t> other;
  };

  // Fills `ends` with the end of each word of `text` (valid UTF-8); nothing is dropped. Expressions apply one after
  // another, each to every piece the ones before it left.
  void split(std::string_view text, Scratch& scratch, std::vector<size_t>& ends) const;

  // Every name there is, for tests and listings.
  static std::vector<std::string_view> names();
  static std::vector<std::string_view> first_names();  // one for each row of the table

 private:
  PreTokenizer(PreTokenizerFlags flags, std::vector<RegexSplitter> steps);

  PreTokenizerFlags flags_;
  std::vector<RegexSplitter> steps_;
};

}  // namespace ingle
