// ingle generate WHAT PATH: the documents that come from the option table.
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/manual.h"
#include "apps/ingle/option_table.h"

namespace ingle::app {
namespace {

int generate_documents(const Arguments& arguments) {
  const std::filesystem::path path = arguments.positional(1).value();
  if (arguments.positional(0) == "commands-page") {
    write_file(path, commands_page());
    return kSuccess;
  }
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail(ErrorCode::kIo, "{}: {}", path.string(), error.message());
  write_file(path / "ingle.1", manual_overview());
  for (const Command& command : commands())
    write_file(path / fmt::format("ingle-{}.1", command.syntax.name), manual_page(command.syntax));
  return kSuccess;
}

}  // namespace

Command generate_command() {
  return {
      {.name = "generate",
       .summary = "write man pages, or the commands page of the docs",
       .description = "man: writes ingle.1 and one page for each command into a directory, which is made if need be. "
                      "commands-page: writes docs/commands.md.",
       .positionals = {{.name = "WHAT",
                        .help = "What to write",
                        .kind = ValueKind::kChoice,
                        .choices = "man|commands-page",
                        .required = true},
                       {.name = "PATH", .help = "Where to", .kind = ValueKind::kFile, .required = true}},
       .groups = {&kGeneralOptions},
       .examples = {{"ingle generate man ~/.local/share/man/man1", "then: man ingle-run"}}},
      generate_documents};
}

}  // namespace ingle::app
