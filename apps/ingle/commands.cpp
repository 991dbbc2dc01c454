#include "apps/ingle/commands.h"

#include <vector>

namespace ingle::app {

// One line per command, in the order help lists them. Each declares the function it calls, which stands in the
// command's own file: nobody else needs it. (A function declared here is one of namespace ingle::app, so the table must
// not be in an unnamed one.)
// clang-format off
constexpr Command (*kCommands[])() = {
    [] { extern Command run_command(); return run_command(); },
    [] { extern Command bench_command(); return bench_command(); },
    [] { extern Command perplexity_command(); return perplexity_command(); },
    [] { extern Command score_command(); return score_command(); },
    [] { extern Command embed_command(); return embed_command(); },
    [] { extern Command rerank_command(); return rerank_command(); },
    [] { extern Command inspect_command(); return inspect_command(); },
    [] { extern Command synth_command(); return synth_command(); },
    [] { extern Command convert_command(); return convert_command(); },
    [] { extern Command quantize_command(); return quantize_command(); },
    [] { extern Command imatrix_command(); return imatrix_command(); },
    [] { extern Command tokenize_command(); return tokenize_command(); },
    [] { extern Command template_command(); return template_command(); },
    [] { extern Command doctor_command(); return doctor_command(); },
    [] { extern Command completion_command(); return completion_command(); },
    [] { extern Command generate_command(); return generate_command(); },
    [] { extern Command help_command(); return help_command(); },
    [] { extern Command version_command(); return version_command(); },
};
// clang-format on

std::span<const Command> commands() {
  static const std::vector<Command> kAll = [] {
    std::vector<Command> all;
    for (const auto command : kCommands) all.push_back(command());
    return all;
  }();
  return kAll;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands())
    if (command.syntax.name == name) return &command;
  return nullptr;
}

}  // namespace ingle::app
