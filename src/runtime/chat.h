// From a conversation to token ids: the file's template writes the text, and only what the template itself wrote may
// become control tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ingle {

class Chat {
 public:
  // `source`: the template; empty: ChatML. Throws Error{kInvalidFile}. `tokenizer` must outlive this.
  Chat(std::string_view source, const Tokenizer& tokenizer);

  // Throw Error{kInvalidArgument}: the template's complaint, or an argument that is not JSON.
  std::string render(const ChatRequest& request) const;
  std::vector<TokenId> tokenize(const ChatRequest& request) const;

 private:
  std::vector<ChatTemplate::Span> render_spans(const ChatRequest& request) const;
  // Control tokens spelt in the text that overlap a byte for which trusted is false / lie in trusted bytes.
  struct Match {
    size_t begin, end;
    TokenId id;
    bool trusted;
  };
  std::vector<Match> find_control_tokens(std::string_view text, const std::vector<bool>& trusted) const;

  const Tokenizer* tokenizer_;
  ChatTemplate template_;
  std::vector<std::pair<std::string_view, TokenId>> control_;  // by first byte, longest first
};

}  // namespace ingle
