// The one place where what went wrong becomes an exit status. Documented in docs/exit-codes.md.
#pragma once

#include <span>
#include <string_view>

#include "ingle/error.h"

namespace ingle::app {

struct ExitCode {
  int status;
  std::string_view meaning;
};

inline constexpr int kSuccess = 0;
inline constexpr int kInterrupted = 130;  // signal_status(SIGINT)

constexpr int signal_status(int signal) noexcept { return 128 + signal; }  // as shells count

int exit_status(ErrorCode code) noexcept;

// Every status the program ends with, ascending: what man pages and docs list.
std::span<const ExitCode> exit_codes() noexcept;

}  // namespace ingle::app
