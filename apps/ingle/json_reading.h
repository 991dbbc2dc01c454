// JSON that people write: errors name the file and the line, and what is only handed on keeps its text.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingle::app {

// For looking into: numbers may be off in their last place, and integers beyond 64 bits are doubles. Nested 100 levels
// at most, as the library reads it. Throws Error: kInvalidFile ("NAME: not JSON: ... in line N"), kInvalidArgument
// (more than 64 MiB).
boost::json::value parse_json(std::string_view text, std::string_view name);
bool is_json(std::string_view text);

// Of a text that is a JSON object: its members in order, each value as it is written.
std::vector<std::pair<std::string, std::string>> json_members(std::string_view text);

}  // namespace ingle::app
