#include "gguf/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace ingle::gguf {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr int kNameTries = 100;
constexpr int kMostLinks = 40;  // as many as the system follows
constexpr mode_t kPermissions = 0777;

// 0, or the errno of what went wrong.
int write_fully(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return 0;
}

// Where symbolic links lead, also those to a file that is not there yet.
std::filesystem::path follow_links(std::filesystem::path path) {
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;  // an absolute one replaces all of it
  }
  return path;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target, Readers readers) : target_(follow_links(std::move(target))) {
  struct stat status {};
  const bool is_there = ::stat(target_.c_str(), &status) == 0;
  if (is_there && !S_ISREG(status.st_mode)) {  // a rename would replace /dev/null itself
    throw_error(ErrorCode::kInvalidArgument, "{}: exists and is not a regular file", target_.native());
  }
  const mode_t permissions = is_there ? status.st_mode & kPermissions : readers == Readers::kOwner ? 0600 : 0666;
  buffer_.reserve(kBufferBytes);
  for (int i = 0; i < kNameTries && descriptor_ < 0; ++i) {
    std::filesystem::path name = target_;
    name += fmt::format(".{}-{}.part", ::getpid(), i);
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (descriptor_ >= 0) {
      temporary_ = UnfinishedFile(std::move(name));
    } else if (errno != EEXIST) {
      throw_io("create", errno);
    }
  }
  if (descriptor_ < 0) throw_io("create", EEXIST);
  // The umask is for new files. Where a file system has no permissions, there are none to keep.
  if (is_there) static_cast<void>(::fchmod(descriptor_, permissions));
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      old_(std::exchange(other.old_, {})),
      committed_(other.committed_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_),
      buffer_(std::move(other.buffer_)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!old_.empty()) ::unlink(old_.c_str());
}

void AtomicFile::throw_io(const char* action, int error) const {
  throw_error(ErrorCode::kIo, "{}: cannot {}: {}", target_.native(), action, std::generic_category().message(error));
}

void AtomicFile::flush() {
  if (const int error = write_fully(descriptor_, buffer_); error != 0) throw_io("write", error);
  buffer_.clear();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  written_ += bytes.size();
  if (buffer_.size() + bytes.size() <= kBufferBytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return;
  }
  flush();
  if (const int error = write_fully(descriptor_, bytes); error != 0) throw_io("write", error);
}

void AtomicFile::write_zeros(uint64_t count) {
  constexpr std::byte kZeros[4096]{};
  for (uint64_t left = count; left > 0;) {
    const size_t piece = static_cast<size_t>(std::min<uint64_t>(left, sizeof(kZeros)));
    write({kZeros, piece});
    left -= piece;
  }
}

void AtomicFile::close() {
  flush();
  // A disk may report that it is full only now; without this a crash could leave the name without the bytes.
  if (::fsync(descriptor_) != 0) throw_io("write", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_io("write", errno);
  buffer_ = {};
}

void AtomicFile::commit() {
  INGLE_CHECK(descriptor_ < 0 && temporary_);
  if (::rename(temporary_.path().c_str(), target_.c_str()) != 0) throw_io("rename the finished file", errno);
  temporary_.finished();
  committed_ = true;
}

void AtomicFile::keep_old() {
  INGLE_CHECK(old_.empty() && temporary_);
  struct stat status {};
  if (::lstat(target_.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  std::filesystem::path name = temporary_.path();
  name += ".old";
  // A second name leaves the first where it is; where a file can have only one, it has to move.
  if (::link(target_.c_str(), name.c_str()) != 0 && ::rename(target_.c_str(), name.c_str()) != 0)
    throw_io("keep what is there", errno);
  old_ = std::move(name);
}

void AtomicFile::take_back() noexcept {
  if (!old_.empty()) {
    // Renamed to another name of itself, a file keeps both. What cannot be put back stays beside the target.
    if (::rename(old_.c_str(), target_.c_str()) == 0) ::unlink(old_.c_str());
    old_.clear();
  } else if (committed_) {
    ::unlink(target_.c_str());
  }
}

}  // namespace ingle::gguf
