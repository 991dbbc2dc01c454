// A machine's ceilings for people and for programs, the same in every command.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "ingle/ceilings.h"

namespace ingle::app {

// "2 threads: reading 31.2 GB/s; int8 455, f32 117 GMAC/s", "... int8 294/188 (4/8-bit weights), ..."
std::string ceilings_line(const Ceilings& ceilings);
boost::json::object to_json(const Ceilings& ceilings);

}  // namespace ingle::app
