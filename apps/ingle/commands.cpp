#include "apps/ingle/commands.h"

namespace ingle::app {

std::span<const Command> commands() {
  static const Command kCommands[] = {
      run_command(),         //
      bench_command(),       //
      perplexity_command(),  //
      score_command(),       //
      embed_command(),       //
      inspect_command(),     //
      synth_command(),       //
      tokenize_command(),    //
      completion_command(),  //
      generate_command(),    //
      help_command(),        //
      version_command(),     //
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands())
    if (command.syntax.name == name) return &command;
  return nullptr;
}

}  // namespace ingle::app
