// What every tokenizer shares: the vocabulary, the special tokens and the frame of encode and decode around them.
#pragma once

#include <string>
#include <vector>

#include "text/special_ids.h"
#include "text/special_tokens.h"
#include "text/token_map.h"
#include "text/tokenizer.h"

namespace ingle {

// The two hex digits of a byte token "<0x0A>"; nullopt for anything else.
std::optional<uint8_t> parse_byte_token(std::string_view text) noexcept;

// White space that a special token takes along. GGUF has no key for it, so it hangs on the file's name, architecture
// and model, as with the models' own files; `mask_strips`: on its pre-tokeniser too.
struct StripFlags {
  bool left = false, right = false;
};
StripFlags strip_flags(std::string_view text, const Vocabulary& vocabulary, bool mask_strips);

// The file's lists, made equal in length and free of holes. Throws Error{kInvalidFile} naming the key.
void check_vocabulary(Vocabulary& vocabulary);

class TokenizerBase : public Tokenizer {
 public:
  struct Traits {
    DefaultIds ids = {};
    bool add_bos = false, add_eos = false, add_separator = false;
    bool force_bos = false;             // whatever the file says
    bool mask_strips = false;           // <mask> takes the white space before it along
    bool spaces_marked = false;         // U+2581 and ' ' are one character to this model
    bool roles_by_text = true;          // tokens that the file gives no role are found by their texts
    bool user_defined_is_text = false;  // the model itself finds user-defined tokens
  };

  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const final;
  std::string piece(TokenId id, bool special) const final;
  std::string decode(std::span<const TokenId> ids, bool special) const final;

  int32_t size() const noexcept final { return static_cast<int32_t>(vocabulary_.tokens.size()); }
  const std::string& text(TokenId id) const final { return vocabulary_.tokens[index(id)]; }
  TokenKind kind(TokenId id) const final { return vocabulary_.kinds[index(id)]; }
  std::optional<TokenId> find(std::string_view text) const final;
  std::optional<TokenId> bos() const noexcept final { return ids_.bos; }
  std::optional<TokenId> eos() const noexcept final { return ids_.eos; }
  std::optional<TokenId> eot() const noexcept final { return ids_.eot; }
  std::optional<TokenId> padding() const noexcept final { return ids_.padding; }
  bool adds_bos() const noexcept final { return add_bos_; }
  PairMarks pair_marks() const final;
  bool is_end_of_generation(TokenId id) const noexcept final;
  std::span<const TokenId> end_of_generation() const noexcept final { return ids_.end_of_generation; }
  std::span<const std::string> warnings() const noexcept final { return warnings_; }
  std::span<const std::string> notes() const noexcept final { return notes_; }
  bool strips_leading_space() const noexcept override { return false; }

 protected:
  // `vocabulary` has passed check_vocabulary.
  TokenizerBase(Vocabulary vocabulary, const Traits& traits);
  TokenizerBase(const TokenizerBase&) = delete;

  // Appends the ids of a text between special tokens; not empty. `after_special`: the first, or one after a special
  // token.
  virtual void encode_fragment(std::string_view text, bool after_special, std::vector<TokenId>& out) const = 0;
  // Appends the bytes of an ordinary token.
  virtual void append_normal(TokenId id, std::string& out) const = 0;
  // Whether decoding a whole text takes out the spaces that encoding tears into it (clean_spaces).
  virtual bool cleans_spaces() const noexcept { return false; }

  size_t index(TokenId id) const;  // throws Error{kInvalidArgument} when out of range
  const Vocabulary& vocabulary() const noexcept { return vocabulary_; }
  const SpecialIds& ids() const noexcept { return ids_; }
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  void note(std::string message) { notes_.push_back(std::move(message)); }

 private:
  void append_piece(TokenId id, bool special, std::string& out) const;
  SpecialTokenMatcher matcher(bool with_control, const Traits& traits) const;

  // In this order: each is made with the ones above it.
  Vocabulary vocabulary_;
  std::vector<std::string> warnings_, notes_;
  TextMap by_text_;
  SpecialIds ids_;
  bool add_bos_, add_eos_, add_separator_;
  bool spaces_marked_;
  SpecialTokenMatcher user_defined_, all_special_;
};

}  // namespace ingle
