#include "apps/ingle/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "apps/ingle/fail.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

std::string read_stream(std::FILE* file, const std::string& name, size_t most_bytes) {
  std::string text;
  char buffer[65536];
  for (;;) {
    errno = 0;
    const size_t n = std::fread(buffer, 1, sizeof buffer, file);
    if (n > most_bytes - text.size())
      fail(ErrorCode::kInvalidArgument, "{}: more than {} bytes, the most that is read; give a part of it", name,
           most_bytes);
    text.append(buffer, n);
    if (n > 0) continue;
    if (std::feof(file)) return text;
    if (errno == EINTR && interrupted()) fail(ErrorCode::kCancelled, "interrupted while reading {}", name);
    if (errno == EISDIR) fail(ErrorCode::kInvalidFile, "{}: is a directory", name);
    if (errno != EINTR) fail(ErrorCode::kIo, "{}: {}", name, std::strerror(errno));
    std::clearerr(file);
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path, size_t most_bytes) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (!file) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    fail(absent ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: {}", path.string(),
         absent ? "no such file" : std::strerror(errno));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(file, std::fclose);
  return read_stream(file, path.string(), most_bytes);
}

std::string read_text(const std::string& path, size_t most_bytes) {
  const std::string name = path == "-" ? "standard input" : path;
  std::string text = path == "-" ? read_stream(stdin, name, most_bytes) : read_file(path, most_bytes);
  require_utf8(text, name);
  return text;
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::perms permissions) : path_(std::move(path)) {
  // What is no regular file cannot be replaced, only written to: /dev/stdout, a named pipe.
  std::error_code ignored;
  const auto status = std::filesystem::status(path_, ignored);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  if (special) {
    if (std::filesystem::is_directory(status)) fail(ErrorCode::kInvalidArgument, "{}: is a directory", path_.string());
    file_ = std::fopen(path_.c_str(), "wbe");
    if (!file_) fail_io(std::strerror(errno));
    return;
  }
  if (std::filesystem::exists(status)) path_ = std::filesystem::canonical(path_, ignored);  // keep a link a link
  std::string pattern = path_.string() + ".XXXXXX";
  const int descriptor = ::mkstemp(pattern.data());
  if (descriptor < 0) fail_io(std::strerror(errno));
  temporary_ = UnfinishedFile(pattern);
  if (std::filesystem::exists(status)) permissions = status.permissions();
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, static_cast<mode_t>(permissions) & (std::filesystem::exists(status) ? 07777 : ~mask));
  file_ = ::fdopen(descriptor, "wb");
  if (!file_) {
    const int error = errno;
    ::close(descriptor);
    fail_io(std::strerror(error));
  }
}

AtomicFile::~AtomicFile() {
  if (file_) std::fclose(file_);
}

void AtomicFile::fail_io(const char* what) const { fail(ErrorCode::kIo, "{}: {}", path_.string(), what); }

void AtomicFile::write(const void* bytes, size_t size) {
  if (std::fwrite(bytes, 1, size, file_) != size) fail_io(std::strerror(errno));
}

void AtomicFile::commit() {
  const bool flushed = std::fflush(file_) == 0;
  const int error = errno;
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (!flushed) fail_io(std::strerror(error));
  if (!closed) fail_io(std::strerror(errno));
  if (!temporary_) return;
  if (std::rename(temporary_.path().c_str(), path_.c_str()) != 0) fail_io(std::strerror(errno));
  temporary_.finished();
}

void write_file(const std::filesystem::path& path, std::string_view text, std::filesystem::perms permissions) {
  AtomicFile file(path, permissions);
  file.write(text);
  file.commit();
}

void require_writable(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail(ErrorCode::kInvalidArgument, "{}: exists and is not a regular file", path.string());
  const AtomicFile uncommitted(path);
}

std::filesystem::path user_directory(const char* variable, std::string_view fallback) {
  const char* directory = std::getenv(variable);
  if (directory && directory[0] == '/') return std::filesystem::path(directory) / "ingle";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home && *home ? home : ".") / fallback / "ingle";
}

}  // namespace ingle::app
