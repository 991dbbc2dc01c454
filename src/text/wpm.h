// BERT's WordPiece as GGUF files describe it ("bert" model): word-initial pieces carry U+2581, the others are bare.
#pragma once

#include "text/bert_normalizer.h"
#include "text/tokenizer_base.h"
#include "text/word_piece.h"

namespace ingle {

class WpmTokenizer final : public TokenizerBase {
 public:
  // `vocabulary` has passed check_vocabulary.
  explicit WpmTokenizer(Vocabulary vocabulary);

  bool strips_leading_space() const noexcept override { return true; }

 private:
  void encode_fragment(std::string_view text, bool after_special, std::vector<TokenId>& out) const override;
  void append_normal(TokenId id, std::string& out) const override;
  bool cleans_spaces() const noexcept override { return true; }

  WordPiece pieces() const;

  BertNormalizerOptions normalizer_;
  WordPiece pieces_;
};

}  // namespace ingle
