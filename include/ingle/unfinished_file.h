// A file that is still being written: nothing of it stays when the work, or the process, ends early.
#pragma once

#include <filesystem>
#include <memory>

namespace ingle {

// Removes the file unless it was finished. Movable; thread-safe as far as objects are different ones.
class UnfinishedFile {
 public:
  UnfinishedFile() noexcept;  // of no file
  explicit UnfinishedFile(std::filesystem::path path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept;
  ~UnfinishedFile();

  explicit operator bool() const noexcept { return mark_ != nullptr; }
  const std::filesystem::path& path() const noexcept;  // of one there is
  void finished() noexcept;                            // it has its name: it stays

 private:
  struct Mark;
  std::unique_ptr<Mark> mark_;  // none: nothing to remove
};

// Removes all of this process, for a signal handler that ends it: async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace ingle
