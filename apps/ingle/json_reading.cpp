#include "apps/ingle/json_reading.h"

#include <algorithm>
#include <boost/json.hpp>

#include "apps/ingle/fail.h"

namespace ingle::app {
namespace {

namespace json = boost::json;

constexpr size_t kMostJsonBytes = size_t{1} << 26;  // digits in an array take twelve times their text as values
constexpr std::string_view kBlank = " \t\r\n";

// Reads one value off the front of a text.
class ValueParser {
 public:
  explicit ValueParser(std::string_view text)
      : parser_({}, options()), taken_(parser_.write_some(text.data(), text.size(), error_)) {}

  size_t taken() const { return taken_; }
  json::value release() { return parser_.release(); }
  // What keeps the text from being one value and nothing else; empty: it is one.
  std::string problem(std::string_view text) const {
    if (error_ == json::error::incomplete) return "ends too early";
    if (error_) return error_.message();
    return text.find_first_not_of(kBlank, taken_) == text.npos ? "" : "something follows";
  }

 private:
  static json::parse_options options() {
    json::parse_options options;
    options.max_depth = 100;
    return options;
  }

  json::error_code error_;
  json::parser parser_;
  size_t taken_;
};

void skip_blank(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size())); }

}  // namespace

json::value parse_json(std::string_view text, std::string_view name) {
  if (text.size() > kMostJsonBytes)
    fail(ErrorCode::kInvalidArgument, "{}: {} bytes of JSON, at most {} are read", name, text.size(), kMostJsonBytes);
  ValueParser parser(text);
  if (const std::string problem = parser.problem(text); !problem.empty())
    fail(ErrorCode::kInvalidFile, "{}: not JSON: {} in line {}", name, problem,
         1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(parser.taken()), '\n'));
  return parser.release();
}

bool is_json(std::string_view text) { return ValueParser(text).problem(text).empty(); }

std::vector<std::pair<std::string, std::string>> json_members(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> members;
  const auto skip = [&](char mark) {
    skip_blank(text);
    text.remove_prefix(text.starts_with(mark) ? 1 : 0);
    skip_blank(text);
  };
  skip('{');
  while (!text.starts_with('}')) {
    ValueParser key(text);
    text.remove_prefix(key.taken());
    skip(':');
    const size_t taken = ValueParser(text).taken();
    const std::string_view value = text.substr(0, taken);
    members.emplace_back(std::string(key.release().as_string()), value.substr(0, value.find_last_not_of(kBlank) + 1));
    text.remove_prefix(taken);
    skip(',');
  }
  return members;
}

}  // namespace ingle::app
