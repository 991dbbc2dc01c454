// Little memory to test with: a limit on the address space of the process, which nothing takes back.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace ingle::test {

// From now on the process may map so many bytes more.
inline void leave_address_space(size_t bytes) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t room = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit = {room, room};
  if (pages == 0 || ::setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

}  // namespace ingle::test
