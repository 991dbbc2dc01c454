// SentencePiece's unigram model as GGUF files describe it ("t5" model).
#pragma once

#include "text/spm_normalizer.h"
#include "text/tokenizer_base.h"
#include "text/unigram.h"

namespace ingle {

class UgmTokenizer final : public TokenizerBase {
 public:
  // `vocabulary` has passed check_vocabulary. Throws Error{kInvalidFile}: the character map.
  explicit UgmTokenizer(Vocabulary vocabulary);

  bool strips_leading_space() const noexcept override {
    return normalizer_.add_space_prefix && !normalizer_.space_is_suffix;
  }

 private:
  void encode_fragment(std::string_view text, bool after_special, std::vector<TokenId>& out) const override;
  void append_normal(TokenId id, std::string& out) const override;

  SpmNormalizer normalizer() const;
  Unigram unigram();

  SpmNormalizer normalizer_;
  Unigram unigram_;
};

}  // namespace ingle
