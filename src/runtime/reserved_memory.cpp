#include "runtime/reserved_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace ingle {

ReservedMemory::ReservedMemory(size_t bytes, std::string_view what) {
  if (bytes == 0) return;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw_error(ErrorCode::kOutOfMemory, "{}: cannot reserve {} bytes: {}", what, bytes,
                std::generic_category().message(errno));
  }
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
}

ReservedMemory::ReservedMemory(ReservedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ReservedMemory& ReservedMemory::operator=(ReservedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ReservedMemory::~ReservedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace ingle
