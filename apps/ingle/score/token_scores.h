// How likely a model held each token of a text, given those before it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ingle/ingle.h"

namespace ingle::app {

struct Alternative {
  TokenId token;
  double log_probability;  // natural
};

struct TokenScore {
  TokenId token = 0;
  double log_probability = 0;    // natural, by the distribution before it
  int64_t rank = 1;              // 1: none was likelier
  std::vector<Alternative> top;  // the likeliest, those of equal probability by id
};

// log softmax in double. `top` may exceed the vocabulary.
TokenScore score_token(std::span<const float> logits, TokenId token, size_t top = 0);

// Of every token but the first, which follows nothing: tokens.size() - 1 scores. The last token is not read, since
// nothing follows it. `after(count)` says how many are done. Throws Error: kCancelled (after an interrupt), and what
// Session throws.
std::vector<TokenScore> score_tokens(Session& session, std::span<const TokenId> tokens, size_t top,
                                     const std::function<void(size_t count)>& after = {});

}  // namespace ingle::app
