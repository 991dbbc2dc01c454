// A text as tokens, by the options of the library's own tokenize() calls.
#pragma once

#include "ingle/model.h"
#include "text/tokenizer.h"

namespace ingle {

// Throws Error{kInvalidArgument} where `most` has no room for the text beside what begins and ends it.
std::vector<TokenId> tokenize(const Tokenizer& tokenizer, std::string_view text, const TokenizeOptions& options);

}  // namespace ingle
