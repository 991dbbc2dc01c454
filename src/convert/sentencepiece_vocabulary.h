// The tokenizer.model of a folder that has no tokenizer.json.
#pragma once

#include "convert/draft.h"

namespace ingle {

// With the tokens that added_tokens.json and tokenizer_config.json add. Throws Error: kInvalidFile, kUnsupported (words
// or characters instead of pieces, spaces kept at the end; with pairs also a normaliser), naming the file.
void add_sentencepiece_vocabulary(Draft& draft, const HfFolder& folder, std::string_view model, int64_t rows);

}  // namespace ingle
