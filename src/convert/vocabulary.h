// The tokenizer of a model's folder as tokenizer.ggml.* keys.
#pragma once

#include "convert/draft.h"

namespace ingle {

// From tokenizer.json, or where that is missing tokenizer.model, and from tokenizer_config.json,
// special_tokens_map.json and generation_config.json beside it. `rows`: of the embedding; ids without a text get
// placeholders. Throws Error: kNotFound (neither), kInvalidFile, kUnsupported (a tokenizer that GGUF has no form for:
// says what of it).
void add_vocabulary(Draft& draft, const HfFolder& folder, int64_t rows);

}  // namespace ingle
