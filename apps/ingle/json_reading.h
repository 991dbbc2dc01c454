// JSON that people write: errors name the file and the line.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

namespace ingle::app {

// Throws Error: kInvalidFile ("NAME: not JSON: ... in line N"), kInvalidArgument (more than 64 MiB).
boost::json::value parse_json(std::string_view text, std::string_view name);

}  // namespace ingle::app
