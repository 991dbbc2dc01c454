// Reading a tokenizer's vocabulary out of a GGUF file.
#pragma once

#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace ingle {

// Copies the tokenizer.ggml.* keys; whether they make sense together is for Tokenizer::create to say.
// Throws Error{kInvalidFile} naming the key: a required one is missing, or one has the wrong type.
Vocabulary load_vocabulary(const GgufFile& file);

}  // namespace ingle
