// A file that appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "ingle/unfinished_file.h"

namespace ingle::gguf {

// Who may read a file that was not there before; one that is replaced keeps its permissions.
enum class Readers { kAsUsual, kOwner };  // what the umask leaves; nobody else

// Written to a temporary beside the target, which takes the target's name in commit(). Without commit() the temporary
// is removed, also by remove_unfinished_files(), and whatever was at the target is left alone. A target that is a
// symbolic link stays one: the file it leads to is written. Throws Error{kIo} naming target and cause (full disk,
// permission).
class AtomicFile {
 public:
  // Throws Error{kInvalidArgument} when the target exists and is not a regular file.
  explicit AtomicFile(std::filesystem::path target, Readers readers = Readers::kAsUsual);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write_zeros(uint64_t count);
  uint64_t written() const noexcept { return written_; }

  // Everything on disk, under the temporary name: from here on only commit() can fail, and hardly.
  void close();
  // What is at the target now gets a name beside it, for take_back().
  void keep_old();
  // After close().
  void commit();
  // At the target is what keep_old() found there, or nothing.
  void take_back() noexcept;

 private:
  void flush();
  [[noreturn]] void throw_io(const char* action, int error) const;

  std::filesystem::path target_;
  UnfinishedFile temporary_;
  std::filesystem::path old_;  // what was at the target; empty: nothing is kept
  bool committed_ = false;
  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace ingle::gguf
