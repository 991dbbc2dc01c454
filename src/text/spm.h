// SentencePiece's byte-pair encoding as GGUF files of Llama 2, Phi-3 and Gemma describe it ("llama" model).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "text/space_mark.h"
#include "text/token_map.h"
#include "text/tokenizer_base.h"
#include "text/whole_memo.h"

namespace ingle {

// Characters are joined by the score of what they make; spaces are U+2581; what is no token falls back to bytes.
class SpmTokenizer final : public TokenizerBase {
 public:
  // `vocabulary` has passed check_vocabulary.
  explicit SpmTokenizer(Vocabulary vocabulary);

 private:
  struct Scratch;

  void encode_fragment(std::string_view text, bool after_special, std::vector<TokenId>& out) const override;
  void append_normal(TokenId id, std::string& out) const override;
  bool strips_leading_space() const noexcept override { return add_space_prefix_; }

  void read_words();
  void find_byte_tokens();
  void encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void merge(std::string_view word, Scratch& scratch) const;
  void append_bytes(std::string_view character, Scratch& scratch, std::vector<TokenId>& out) const;

  bool add_space_prefix_;
  size_t longest_ = 0;  // bytes of the longest token that merging may make
  TextMap words_;       // tokens that text may become
  MarkCutter cutter_;
  std::array<TokenId, 256> byte_tokens_;  // -1: the vocabulary lacks it
  WholeMemo whole_;
};

}  // namespace ingle
