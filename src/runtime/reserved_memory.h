// Address space reserved at once; a page costs memory only from the first time it is written.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingle {

// Owns zeroed, page-aligned memory that does not move. Movable.
class ReservedMemory {
 public:
  ReservedMemory() = default;
  // Throws Error{kOutOfMemory} naming `what` and the size.
  ReservedMemory(size_t bytes, std::string_view what);
  ReservedMemory(ReservedMemory&& other) noexcept;
  ReservedMemory& operator=(ReservedMemory&& other) noexcept;
  ~ReservedMemory();

  std::byte* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace ingle
