// Joining what a tokenizer for reading only (BERT's) has torn apart: no space before a full stop.
#pragma once

#include <string>
#include <string_view>

namespace ingle {

// Removes the space before ? ! . and , the spaces around a lone apostrophe, and the space before 's 'm 're 've.
// For whole texts; never for the pieces of a stream, whose neighbours are not known.
std::string clean_spaces(std::string_view text);

}  // namespace ingle
