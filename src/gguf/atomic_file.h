// A file that appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace ingle::gguf {

// Written to a temporary beside the target, which takes the target's name in commit(). Without commit() the temporary
// is removed and whatever was at the target is left alone. Throws Error{kIo} naming target and cause (full disk,
// permission).
class AtomicFile {
 public:
  // Throws Error{kInvalidArgument} when the target exists and is not a regular file.
  explicit AtomicFile(std::filesystem::path target);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write_zeros(uint64_t count);
  uint64_t written() const noexcept { return written_; }

  // Everything on disk, under the temporary name: from here on only commit() can fail, and hardly.
  void close();
  // After close().
  void commit();

 private:
  void flush();
  [[noreturn]] void throw_io(const char* action, int error) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty: nothing to remove
  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace ingle::gguf
