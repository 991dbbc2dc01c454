// --help: an overview of the commands, and one page for each, from the option table.
#pragma once

#include <string>
#include <string_view>

#include "apps/ingle/options.h"

namespace ingle::app {

std::string overview(int width);
std::string help_text(const Syntax& syntax, int width);

// Shared with man pages and the commands page.
std::string usage_line(const Syntax& syntax);                 // "ingle run [OPTIONS] [MODEL]"
std::vector<std::string> option_names(const Option& option);  // "-c", "--ctx-size"
std::string option_help(const Option& option);                // help, values, default, environment in one text
std::vector<std::string_view> paragraphs(std::string_view text);

}  // namespace ingle::app
