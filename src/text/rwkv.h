// RWKV's tokenizer ("rwkv" model): the longest token at the front of the text, again and again, over plain bytes.
#pragma once

#include "text/byte_trie.h"
#include "text/tokenizer_base.h"

namespace ingle {

// A token's text is that of a Python bytes literal: \t \n \r \xHH, any other character after a backslash is itself.
std::string unescape_rwkv(std::string_view text);

class RwkvTokenizer final : public TokenizerBase {
 public:
  // `vocabulary` has passed check_vocabulary.
  explicit RwkvTokenizer(Vocabulary vocabulary);

 private:
  void encode_fragment(std::string_view text, bool after_special, std::vector<TokenId>& out) const override;
  void append_normal(TokenId id, std::string& out) const override;

  ByteTrie tokens();

  ByteTrie tokens_;
};

}  // namespace ingle
