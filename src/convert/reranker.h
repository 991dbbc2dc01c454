// Qwen3-Reranker: a language model whose next token, yes or no, says whether a text answers a question. Of its output
// layer a file keeps the rows of these two tokens, as a classifier, and beside it the template that both texts go into.
#pragma once

#include "convert/draft.h"

namespace ingle {

// Its settings are those of any Qwen3; only the heading of its README.md says what it is for.
bool is_reranker(const HfFolder& folder);

// Of a draft that has its tensors and its vocabulary. Throws Error{kInvalidFile} where that has no "yes" or no "no", or
// where the output layer is of another shape than the embedding.
void make_reranker(Draft& draft);

}  // namespace ingle
