// Files in memory: which one a fault is about.
#pragma once

namespace ingle {

// For a handler of SIGBUS, which comes when a file that is in use becomes shorter or its disk fails: the name of the
// file that is mapped at `address`, null if none is. Only once, since the process has to end then. Async-signal-safe.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace ingle
