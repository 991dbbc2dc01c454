// Throwing Error with a formatted message, and the check for our own mistakes.
#pragma once

#include <fmt/format.h>

#include "ingle/error.h"

namespace ingle {

// throw_error(ErrorCode::kInvalidFile, "{}: ends at {}, file has {} bytes", name, end, size);
template <class... Args>
[[noreturn]] void throw_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace ingle

// For our own mistakes, never for input: throws Error{kInternal} naming the condition and the place.
#define INGLE_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::ingle::check_failed(#condition, __FILE__, __LINE__))
