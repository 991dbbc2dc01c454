// The commands of the program. To add one: write commands/x.cpp and its line in commands.cpp.
#pragma once

#include <span>
#include <string_view>

#include "apps/ingle/options.h"

namespace ingle::app {

struct Command {
  Syntax syntax;
  int (*run)(const Arguments&);  // returns the exit status; throws ingle::Error
};

Command run_command();
Command bench_command();
Command perplexity_command();
Command score_command();
Command embed_command();
Command inspect_command();
Command synth_command();
Command tokenize_command();
Command completion_command();
Command generate_command();
Command help_command();
Command version_command();

std::span<const Command> commands();  // in the order help lists them
const Command* find_command(std::string_view name);

}  // namespace ingle::app
