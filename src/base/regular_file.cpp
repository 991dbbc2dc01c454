#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>

#include "base/error.h"

namespace ingle {
namespace {

size_t size_of(const struct stat& status, const std::string& name) {
  if (S_ISDIR(status.st_mode)) throw_error(ErrorCode::kInvalidFile, "{}: is a directory", name);
  if (!S_ISREG(status.st_mode)) throw_error(ErrorCode::kInvalidFile, "{}: is not a regular file", name);
  if (static_cast<uintmax_t>(status.st_size) > std::numeric_limits<size_t>::max() / 2)
    throw_error(ErrorCode::kUnsupported, "{}: {} bytes are more than this machine can address", name, status.st_size);
  return static_cast<size_t>(status.st_size);
}

}  // namespace

RegularFile::RegularFile(const std::filesystem::path& path) : name_(path.native()) {
  if (name_.find('\0') != std::string::npos)
    throw_error(ErrorCode::kNotFound, "{}: no such file (the name contains a NUL byte)", name_.c_str());
  // Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever.
  descriptor_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail("open", errno);
  try {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("examine", errno);
    size_ = size_of(status, name_);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RegularFile::~RegularFile() { ::close(descriptor_); }

void RegularFile::fail(const char* action, int error) const {
  if (error == ENOENT || error == ENOTDIR) throw_error(ErrorCode::kNotFound, "{}: no such file", name_);
  throw_error(ErrorCode::kIo, "{}: cannot {}: {}", name_, action, std::generic_category().message(error));
}

}  // namespace ingle
