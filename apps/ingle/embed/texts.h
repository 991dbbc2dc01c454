// The texts to embed: each -p, or each line of a file or of standard input, with words for where it stands.
#pragma once

#include <string>
#include <vector>

#include "apps/ingle/options.h"

namespace ingle::app {

struct PlacedText {
  std::string text;
  std::string place;  // "-p 2", "notes.txt: line 3"
};

// The beginning of a text, for a column of so many characters: what does not show is written out.
std::string label(std::string_view text, int columns);

// Lines end with \n or \r\n; the last one may lack it.
std::vector<PlacedText> split_lines(std::string_view text, std::string_view name);

// Throws Error: kInvalidArgument (-p and -f together, no text, an empty one, one that is not UTF-8: names the place),
// kNotFound, kIo.
std::vector<PlacedText> given_texts(const Arguments& arguments);

}  // namespace ingle::app
