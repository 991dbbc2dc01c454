// Byte-pair encoding: text is cut into words, a word into bytes (or characters), and neighbours are joined by rank.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "text/bpe_merges.h"
#include "text/join_filter.h"
#include "text/pre_tokenizers.h"
#include "text/scratch_pool.h"
#include "text/space_mark.h"
#include "text/token_map.h"
#include "text/tokenizer_base.h"
#include "text/whole_memo.h"

namespace ingle {

// "gpt2": merges work on bytes, and any bytes survive a round trip if the vocabulary has a token for each.
// "gemma4": merges work on characters, spaces are U+2581, and what is no token falls back to bytes.
class BpeTokenizer final : public TokenizerBase {
 public:
  // `vocabulary` has passed check_vocabulary. Throws Error{kUnsupported} for an unknown pre-tokeniser.
  static std::unique_ptr<const Tokenizer> create(Vocabulary vocabulary);

  // `merges`, no pair twice, go before the vocabulary's lines when there are any.
  BpeTokenizer(Vocabulary vocabulary, PreTokenizer pre, const Traits& traits, const std::vector<BpeMerge>& merges = {});
  ~BpeTokenizer() override;

 private:
  struct Scratch;

  void encode_fragment(std::string_view text, bool after_special, std::vector<TokenId>& out) const override;
  void append_normal(TokenId id, std::string& out) const override;

  void decode_texts();
  void read_merges();
  void add_merge(TokenId left, TokenId right, size_t rank, TokenId result);
  void find_byte_tokens();

  std::string_view bytes_of(TokenId id) const noexcept;
  bool stands_for_text(TokenId id) const noexcept;
  void encode_words(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;
  void encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void encode_new_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void encode_part(std::string_view part, Scratch& scratch, std::vector<TokenId>& out) const;
  void merge_part(std::string_view part, TokenId whole, Scratch& scratch, std::vector<TokenId>& out) const;
  void start_symbols(std::string_view word, Scratch& scratch) const;

  PreTokenizer pre_;
  std::string pool_;               // the bytes of all tokens, one after another
  std::vector<size_t> pool_ends_;  // where each one ends
  TextMap words_;                  // from bytes to ordinary tokens
  BpeMerges merges_;
  bool cuts_at_marks_ = false;
  MarkCutter cutter_;
  std::array<TokenId, 256> byte_tokens_;  // -1: the vocabulary lacks it
  int missing_bytes_ = 0;                 // of those that valid text may have
  WholeMemo whole_;
  JoinFilter joins_;
  bool cuts_words_ = false;  // by joins_
  mutable ScratchPool<Scratch> scratch_;
};

}  // namespace ingle
