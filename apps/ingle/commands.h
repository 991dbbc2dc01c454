// The commands of the program. To add one: write commands/x.cpp, with a function that returns its Command, and its line
// in commands.cpp.
#pragma once

#include <span>
#include <string_view>

#include "apps/ingle/options.h"

namespace ingle::app {

struct Command {
  Syntax syntax;
  int (*run)(const Arguments&);  // returns the exit status; throws ingle::Error
};

std::span<const Command> commands();  // in the order help lists them
const Command* find_command(std::string_view name);

}  // namespace ingle::app
