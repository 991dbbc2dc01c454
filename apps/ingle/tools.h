// Tools that a model may call, as chat APIs define them.
#pragma once

#include <string>

namespace ingle::app {

// A file's JSON array of tools as it is written, "[]" where it has none. Each is an object with a name, or with
// a "function" that has one. Throws Error: kInvalidFile (names the tool by its number, from 0), and what read_text()
// and parse_json() throw.
std::string read_tools(const std::string& file);

}  // namespace ingle::app
