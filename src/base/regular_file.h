// A regular file opened for reading: what mapping a file and reading it whole have in common.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace ingle {

// Owns the descriptor; neither copied nor moved. No pipe and no device is ever waited for.
class RegularFile {
 public:
  // Throws Error: kNotFound (no such file), kInvalidFile (a directory, a pipe or device), kUnsupported (more bytes than
  // can be addressed), kIo (the rest).
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::string& name() const noexcept { return name_; }
  int descriptor() const noexcept { return descriptor_; }
  size_t size() const noexcept { return size_; }  // when it was opened

  // Throws what `error`, an errno, means: "NAME: cannot ACTION: ...".
  [[noreturn]] void fail(const char* action, int error) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  size_t size_ = 0;
};

}  // namespace ingle
