// The program: finds the command, runs it, and turns what it throws into one line on stderr and an exit status.
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/help.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

int dispatch(std::span<const std::string> words) {
  if (words.empty()) {
    write_stderr(overview(terminal_width()));
    return exit_status(ErrorCode::kInvalidArgument);
  }
  if (words[0] == "--help" || words[0] == "-h") {
    write_stdout(overview(terminal_width()));
    return kSuccess;
  }
  const std::string name = words[0] == "--version" ? "version" : words[0];
  const Command* command = find_command(name);
  if (!command) {
    std::vector<std::string_view> names;
    for (const Command& c : commands()) names.push_back(c.syntax.name);
    const std::string_view near = nearest(name, names);
    fail(ErrorCode::kInvalidArgument, "'{}': no such command{} (see: ingle --help)", printable(name),
         near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near));
  }
  const Arguments arguments = parse(command->syntax, words.subspan(1), [](const char* n) { return std::getenv(n); });
  if (arguments.flag("help")) {
    write_stdout(help_text(command->syntax, terminal_width()));
    return kSuccess;
  }
  return command->run(arguments);
}

// One line, whatever the message holds.
int report(std::string_view message, int status) {
  note("ingle: {}", printable(message));
  return status;
}

int guarded(std::span<const std::string> words) {
  try {
    return dispatch(words);
  } catch (const Error& error) {
    return report(error.what(), exit_status(error.code()));
  } catch (const std::bad_alloc&) {
    return report("out of memory; a shorter text, a smaller context or a smaller model takes less",
                  exit_status(ErrorCode::kOutOfMemory));
  } catch (const std::exception& error) {
    return report(fmt::format("internal error: {}", error.what()), exit_status(ErrorCode::kInternal));
  }
}

}  // namespace
}  // namespace ingle::app

int main(int count, char** values) {
  ingle::app::occupy_standard_streams();
  ingle::app::use_utf8_locale();
  ingle::app::install_signal_handlers();
  const std::vector<std::string> words(values + (count > 0 ? 1 : 0), values + count);
  const int status = ingle::app::guarded(words);
  // Work that heeds an ending signal ends in one way or another; the signal is why.
  const int signal = ingle::app::ending_signal();
  return signal != 0 ? ingle::app::signal_status(signal) : status;
}
