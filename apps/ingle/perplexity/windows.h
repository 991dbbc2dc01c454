// A text cut into windows, and what the model expected in the second half of each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ingle/ingle.h"

namespace ingle::app {

struct Windows {
  int64_t size = 0;             // tokens in each
  std::vector<TokenId> tokens;  // windows one after the other; a multiple of size

  int64_t count() const { return static_cast<int64_t>(tokens.size()) / size; }
  // The first position whose next token is scored. What stands before is context only, so that every scored token has
  // at least half a window of it.
  int64_t first() const { return size / 2; }
  int64_t scored() const { return size - 1 - first(); }  // rows in each window
};

// Whole windows of a text's tokens, at most `most` (-1: all). Where the model wants a token at the beginning, each
// window begins with it in place of its own first token. Throws Error{kInvalidArgument} when the text is shorter than a
// window, with what to do about it.
Windows cut_windows(const Model& model, std::string_view text, int64_t size, int64_t most,
                    std::string_view remedy = "use a longer text or a smaller -c");

// Calls `each(window, logits, next)` for every scored row in order; `next` is the token that did follow.
// `after(window)` follows each window's last row.
void score_windows(Session& session, const Windows& windows,
                   const std::function<void(int64_t window, std::span<const float> logits, TokenId next)>& each,
                   const std::function<void(int64_t window)>& after);

}  // namespace ingle::app
