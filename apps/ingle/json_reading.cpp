#include "apps/ingle/json_reading.h"

#include <algorithm>
#include <boost/json.hpp>

#include "apps/ingle/fail.h"

namespace ingle::app {
namespace {

constexpr size_t kMostJsonBytes = size_t{1} << 26;  // digits in an array take twelve times their text as values

}  // namespace

boost::json::value parse_json(std::string_view text, std::string_view name) {
  if (text.size() > kMostJsonBytes)
    fail(ErrorCode::kInvalidArgument, "{}: {} bytes of JSON, at most {} are read", name, text.size(), kMostJsonBytes);
  boost::json::error_code error;
  boost::json::stream_parser parser;
  const size_t taken = parser.write_some(text.data(), text.size(), error);
  const bool rest_is_blank = text.find_first_not_of(" \t\r\n", taken) == text.npos;
  if (!error && rest_is_blank) parser.finish(error);  // only the end of the text ends a number
  if (error || !rest_is_blank)
    fail(ErrorCode::kInvalidFile, "{}: not JSON: {} in line {}", name,
         error == boost::json::error::incomplete ? "ends too early"
         : error                                 ? error.message()
                                                 : "something follows",
         1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(taken), '\n'));
  return parser.release();
}

}  // namespace ingle::app
