// Completion scripts for shells, from the option table. They hold everything; completing runs no program.
#pragma once

#include <string>

namespace ingle::app {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace ingle::app
