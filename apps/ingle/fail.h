// Throwing ingle::Error with a formatted message; the program's own, since apps/ sees the public headers only.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "ingle/error.h"

namespace ingle::app {

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ingle::app
