// Files the program reads and writes itself: texts that must be UTF-8, results that are whole or not there.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "ingle/unfinished_file.h"

namespace ingle::app {

// The longest context that can be asked for, full of tokens of sixteen bytes: what a pipe that never ends may cost.
inline constexpr size_t kMostTextBytes = size_t{1} << 28;

// "-" reads stdin. Throws Error: kNotFound, kIo, kInvalidFile (a directory), kInvalidArgument (more than `most_bytes`,
// or not UTF-8: names the byte's offset).
std::string read_text(const std::string& path, size_t most_bytes = kMostTextBytes);

// The bytes of a file. Throws Error: kNotFound, kIo, kInvalidFile (a directory), kInvalidArgument (more than
// `most_bytes`).
std::string read_file(const std::filesystem::path& path, size_t most_bytes = kMostTextBytes);

// A file that appears under its name only when it is complete: it is written beside it and renamed by commit(). Without
// commit() nothing is left, also if a signal ends the program. A file that is replaced keeps its permissions, a new one
// has `permissions` but for the umask; a link stays one, and what it leads to is written. Throws Error that names the
// file: kIo, kInvalidArgument (a directory).
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path, std::filesystem::perms permissions = std::filesystem::perms(0666));
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail_io(const char* what) const;

  std::filesystem::path path_;
  UnfinishedFile temporary_;  // none: what is written to is no regular file
  std::FILE* file_ = nullptr;
};

// By AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view text,
                std::filesystem::perms permissions = std::filesystem::perms(0666));

// For what is written at the end of long work, asked before it: throws what keeps `path` from being written now, and
// leaves nothing there. Throws Error: kInvalidArgument (it is there and no regular file), kIo.
void require_writable(const std::filesystem::path& path);

// $NAME/ingle, or ~/FALLBACK/ingle where the variable is unset: XDG's base directories.
std::filesystem::path user_directory(const char* variable, std::string_view fallback);

}  // namespace ingle::app
