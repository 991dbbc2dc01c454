// JSON as people write it: 0.95 where Boost's serializer has 9.5E-1; what is no number is null.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace ingle::app {

std::string json_text(const boost::json::value& value);  // in one line

}  // namespace ingle::app
