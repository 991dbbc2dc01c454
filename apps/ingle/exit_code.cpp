#include "apps/ingle/exit_code.h"

namespace ingle::app {

int exit_status(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInternal:
      return 1;
    case ErrorCode::kInvalidArgument:
      return 2;
    case ErrorCode::kNotFound:
      return 3;
    case ErrorCode::kInvalidFile:
      return 4;
    case ErrorCode::kUnsupported:
      return 5;
    case ErrorCode::kOutOfMemory:
      return 6;
    case ErrorCode::kIo:
      return 7;
    case ErrorCode::kCancelled:
      return kInterrupted;
  }
  return 1;
}

std::span<const ExitCode> exit_codes() noexcept {
  static constexpr ExitCode kCodes[] = {
      {0, "success"},
      {1, "a mistake in ingle itself; please report it"},
      {2, "usage: an option, value, prompt or request that makes no sense as given"},
      {3, "not found: a file, model, tensor or token that is not there"},
      {4, "invalid file: bytes that are not what they say they are (damaged, truncated, not a model)"},
      {5, "unsupported: well formed, but nothing here implements it"},
      {6, "out of memory: says how much was wanted where that is known"},
      {7, "input or output failed: no permission, full disk, closed pipe"},
      {129, "ended by SIGHUP: the terminal was closed"},
      {130, "interrupted by Ctrl-C"},
      {143, "ended by SIGTERM"},
  };
  return kCodes;
}

}  // namespace ingle::app
