#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace ingle {
namespace {

struct Descriptor {
  int fd = -1;
  explicit Descriptor(int descriptor) : fd(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void throw_system_error(const std::string& path, const char* action, int error) {
  if (error == ENOENT || error == ENOTDIR) throw_error(ErrorCode::kNotFound, "{}: no such file", path);
  throw_error(ErrorCode::kIo, "{}: cannot {}: {}", path, action, std::generic_category().message(error));
}

}  // namespace

MappedFile MappedFile::open(const std::filesystem::path& path) {
  const std::string& name = path.native();
  if (name.find('\0') != std::string::npos) {
    throw_error(ErrorCode::kNotFound, "{}: no such file (the name contains a NUL byte)", name.c_str());
  }
  // Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever.
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) throw_system_error(name, "open", errno);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) throw_system_error(name, "examine", errno);
  if (S_ISDIR(status.st_mode)) throw_error(ErrorCode::kInvalidFile, "{}: is a directory", name);
  if (!S_ISREG(status.st_mode)) throw_error(ErrorCode::kInvalidFile, "{}: is not a regular file", name);
  if (status.st_size == 0) throw_error(ErrorCode::kInvalidFile, "{}: is empty", name);
  if (static_cast<uintmax_t>(status.st_size) > std::numeric_limits<size_t>::max() / 2) {
    throw_error(ErrorCode::kUnsupported, "{}: {} bytes are more than this machine can address", name, status.st_size);
  }

  const size_t size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (data == MAP_FAILED) throw_system_error(name, "map", errno);
  MappedFile mapped;
  mapped.data_ = static_cast<const std::byte*>(data);
  mapped.size_ = size;
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);  // ours is unmapped with `other`
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(size_t offset, size_t bytes) const noexcept {
  if (offset >= size_) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t end = offset + std::min(bytes, size_ - offset);
  const size_t first_page = (offset + page - 1) / page * page;
  // The file's last page holds nothing else, so it may go although the file ends inside it.
  const size_t last_page = end == size_ ? (end + page - 1) / page * page : end / page * page;
  if (first_page >= last_page) return;
  ::madvise(const_cast<std::byte*>(data_) + first_page, last_page - first_page, MADV_DONTNEED);
}

void MappedFile::read_alone(size_t offset, size_t bytes) const noexcept {
  if (offset >= size_) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first_page = offset / page * page;
  ::madvise(const_cast<std::byte*>(data_) + first_page, std::min(bytes, size_ - offset) + offset - first_page,
            MADV_RANDOM);
}

}  // namespace ingle
