// ingle completion SHELL: prints a completion script.
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/shell_completion.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

int print_completion(const Arguments& arguments) {
  const std::string shell = arguments.positional(0).value();
  write_stdout(shell == "bash" ? bash_completion() : shell == "zsh" ? zsh_completion() : fish_completion());
  return kSuccess;
}

}  // namespace

Command completion_command() {
  return {{.name = "completion",
           .summary = "print a completion script for your shell",
           .description = "The script goes to stdout; source it, or put it where your shell looks for completions.",
           .positionals = {{.name = "SHELL",
                            .help = "Which shell",
                            .kind = ValueKind::kChoice,
                            .choices = "bash|zsh|fish",
                            .required = true}},
           .groups = {&kGeneralOptions},
           .examples = {{"source <(ingle completion bash)", "complete in this shell, from now on"},
                        {"ingle completion fish > ~/.config/fish/completions/ingle.fish", "for good, in fish"}}},
          print_completion};
}

}  // namespace ingle::app
