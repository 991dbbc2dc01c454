// The tokenizer of a model's folder as tokenizer.ggml.* keys.
#pragma once

#include "convert/draft.h"

namespace ingle {

// From tokenizer.json (and tokenizer.model where scores are in it), tokenizer_config.json, generation_config.json and
// the chat template beside them. `rows`: of the embedding; ids without a text get placeholders. Throws Error: kNotFound
// (no tokenizer.json), kInvalidFile, kUnsupported (a tokenizer that GGUF has no form for: says what of it).
void add_vocabulary(Draft& draft, const HfFolder& folder, int64_t rows);

}  // namespace ingle
