#include "apps/ingle/json_text.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

namespace ingle::app {
namespace {

void append(std::string& out, const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::double_: {
      const double number = value.get_double();
      out += std::isfinite(number) ? fmt::format("{}", number) : "null";
      break;
    }
    case boost::json::kind::array: {
      char before = '[';
      for (const boost::json::value& element : value.get_array()) {
        out += before;
        append(out, element);
        before = ',';
      }
      out += before == '[' ? "[]" : "]";
      break;
    }
    case boost::json::kind::object: {
      char before = '{';
      for (const auto& [key, element] : value.get_object()) {
        out += before;
        out += boost::json::serialize(key);
        out += ':';
        append(out, element);
        before = ',';
      }
      out += before == '{' ? "{}" : "}";
      break;
    }
    default:
      out += boost::json::serialize(value);
  }
}

}  // namespace

std::string json_text(const boost::json::value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string json_text(const boost::json::object& object, std::string_view name, std::string_view json) {
  std::string out = json_text(object);
  out.pop_back();
  out += fmt::format("{}{}:{}}}", object.empty() ? "" : ",", boost::json::serialize(boost::json::value(name)), json);
  return out;
}

}  // namespace ingle::app
