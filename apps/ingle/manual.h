// Man pages and the commands page of the docs, from the option table.
#pragma once

#include <string>

#include "apps/ingle/options.h"

namespace ingle::app {

std::string manual_overview();                  // ingle.1, in man(7) macros
std::string manual_page(const Syntax& syntax);  // ingle-run.1
std::string commands_page();                    // docs/commands.md

}  // namespace ingle::app
