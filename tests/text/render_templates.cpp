// Renders templates in bulk for scripts/fuzz_templates.py: a line {"source": ..., "variables": {...}} comes in, a line
// {"text": ...} or {"error": ..., "code": ...} goes out.
#include <boost/json.hpp>
#include <iostream>
#include <string>

#include "ingle/error.h"
#include "text/chat_template.h"

namespace json = boost::json;

namespace {

json::object rendered(const json::object& request) {
  try {
    const auto parsed = ingle::ChatTemplate::parse(std::string_view(request.at("source").as_string()));
    return {{"text", parsed.render(request.at("variables").as_object(), std::chrono::system_clock::time_point{})}};
  } catch (const ingle::Error& e) {
    return {{"error", e.what()}, {"code", static_cast<int>(e.code())}};
  }
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  json::parse_options options;
  options.max_depth = 256;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << json::serialize(rendered(json::parse(line, {}, options).as_object())) << '\n' << std::flush;
}
