// The vectors of many texts. Texts are read together, one sequence each, as many at once as one step queue takes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/ingle/embed/pooling.h"
#include "ingle/ingle.h"

namespace ingle::app {

using Tokens = std::vector<TokenId>;

struct EmbedOptions {
  Pooling pooling = Pooling::kLast;
  bool normalize = true;
  SessionOptions session;  // its context and sequences follow from the texts
};

// How many of the texts, from the first, are read together: at least one, further ones while their tokens fit a queue
// of `batch`, the cache they take together stays moderate, and they are on the first one's side of `short_context`
// (ModelInfo): a text's numbers are those that it has alone.
size_t texts_together(std::span<const Tokens> texts, int64_t batch, int64_t short_context);

// A session that is just as large as reading these texts together asks for; of `options` context and sequences follow.
// In a model that reads a text at once a micro-batch holds the longest.
Session session_for(const Model& model, std::span<const Tokens> texts, SessionOptions options);

void add(RowCounts& sum, const RowCounts& rows);

// No text is empty. Calls `each(index, embedding)` for every text in order. Throws Error: kCancelled (after an
// interrupt), and what Session throws.
RowCounts embed_texts(const Model& model, std::span<const Tokens> texts, const EmbedOptions& options,
                      const std::function<void(size_t index, std::vector<float> embedding)>& each);

}  // namespace ingle::app
