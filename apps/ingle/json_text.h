// JSON as people write it: 0.95 where Boost's serializer has 9.5E-1; what is no number is null.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

namespace ingle::app {

std::string json_text(const boost::json::value& value);  // in one line

// An object with a last member more, whose value is JSON text and stays as it is.
std::string json_text(const boost::json::object& object, std::string_view name, std::string_view json);

}  // namespace ingle::app
