// Reading a tokenizer's vocabulary out of a GGUF file.
#pragma once

#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace ingle {

// Copies the tokenizer.ggml.* keys; whether they make sense together is for Tokenizer::create to say. `pre_tokenizer`,
// unless empty, stands in for tokenizer.ggml.pre. Throws Error: kInvalidFile naming the key (a required one is missing,
// or one has the wrong type); kInvalidArgument (a pre-tokeniser is given for a model that has none).
Vocabulary load_vocabulary(const GgufFile& file, std::string_view pre_tokenizer = {});

}  // namespace ingle
