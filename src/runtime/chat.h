// From a conversation to token ids: the file's template writes the text, and only what the template itself wrote may
// become control tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/prompt_template.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ingle {

// Under the names transformers gives them. One that the vocabulary lacks is undefined in a template, not empty.
PromptTemplate::SpecialTokens special_tokens(const Tokenizer& tokenizer);

class Chat {
 public:
  // `source`: the template; empty: ChatML. Throws Error{kInvalidFile}. `tokenizer` must outlive this.
  Chat(std::string source, const Tokenizer& tokenizer);

  const PromptTemplate& prompt_template() const noexcept { return template_; }
  // Throws what PromptTemplate::render does.
  std::vector<TokenId> tokenize(const ChatRequest& request) const;
  // Of a text that somebody else wrote in pieces: only trusted ones may become control tokens.
  std::vector<TokenId> tokenize(std::span<const ChatTemplate::Span> spans) const;

 private:
  // Control tokens spelt in the text that overlap a byte for which trusted is false / lie in trusted bytes.
  struct Match {
    size_t begin, end;
    TokenId id;
    bool trusted;
  };
  std::vector<Match> find_control_tokens(std::string_view text, const std::vector<bool>& trusted) const;

  const Tokenizer* tokenizer_;
  PromptTemplate template_;
  std::vector<std::pair<std::string_view, TokenId>> control_;  // by first byte, longest first
};

}  // namespace ingle
