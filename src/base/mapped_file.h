// A regular file mapped read-only: its pages are read when touched and belong to the page cache, not to us.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/signal_set.h"

namespace ingle {

// Owns one mapping of a whole file; movable, and the bytes do not move with it. Const methods are thread-safe.
// Another process that cuts the file short while it is mapped makes the lost pages fault (SIGBUS), as with any mapping;
// name_at() tells the handler whose page it was.
class MappedFile {
 public:
  // Throws Error: kNotFound (no such file), kInvalidFile (a directory, a pipe or device, an empty file), kOutOfMemory
  // (no room in the address space), kIo (the rest).
  static MappedFile open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  // Lets the system forget the whole pages inside [offset, offset + bytes); reading them again fetches them from the
  // file.
  void drop(size_t offset, size_t bytes) const noexcept;
  // From now on a page of this range is read only when it is touched itself, not because a neighbour was.
  void read_alone(size_t offset, size_t bytes) const noexcept;

  // For a signal handler that ends the process: the name of the file that is mapped at `address`, null if none is.
  // Asked once, since it empties the list of what is mapped. Async-signal-safe.
  static const char* name_at(const void* address) noexcept;

 private:
  struct Place {
    const std::byte* data;
    size_t size;
    std::string name;
  };
  static constinit SignalSet<const Place> places;

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  SignalSet<const Place>::Member place_;
};

}  // namespace ingle
