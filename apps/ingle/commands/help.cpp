// ingle help [COMMAND]
#include "apps/ingle/help.h"

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

int show_help(const Arguments& arguments) {
  const std::optional<std::string> name = arguments.positional(0);
  if (!name) {
    write_stdout(overview(terminal_width()));
    return kSuccess;
  }
  const Command* command = find_command(*name);
  if (!command) fail(ErrorCode::kInvalidArgument, "'{}': no such command (see: ingle --help)", printable(*name));
  write_stdout(help_text(command->syntax, terminal_width()));
  return kSuccess;
}

}  // namespace

Command help_command() {
  return {{.name = "help",
           .summary = "show what commands there are, or everything about one",
           .positionals = {{.name = "COMMAND", .help = "The command to explain"}},
           .groups = {&kGeneralOptions},
           .examples = {{"ingle help run", "the same as ingle run --help"}}},
          show_help};
}

}  // namespace ingle::app
