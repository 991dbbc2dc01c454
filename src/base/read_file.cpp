#include "base/read_file.h"

#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/regular_file.h"

namespace ingle {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;

// Up to `bytes` more at the end of `text`; how many there were, 0 at the end of the file.
size_t append(const RegularFile& file, std::string& text, size_t bytes) {
  const size_t before = text.size();
  text.resize(before + bytes);
  for (;;) {
    const ssize_t count = ::read(file.descriptor(), text.data() + before, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) file.fail("read", errno);
    text.resize(before + static_cast<size_t>(count));
    return static_cast<size_t>(count);
  }
}

[[noreturn]] void too_large(const RegularFile& file, size_t bytes, size_t most_bytes) {
  throw_error(ErrorCode::kInvalidFile, "{}: {} bytes, at most {} are read", file.name(), bytes, most_bytes);
}

}  // namespace

// A file may grow while it is read, and those in /proc have no size at all: what counts is where reading ends.
std::string read_file(const std::filesystem::path& path, size_t most_bytes) {
  const RegularFile file(path);
  if (file.size() > most_bytes) too_large(file, file.size(), most_bytes);
  std::string text;
  text.reserve(file.size() + kPieceBytes);
  while (append(file, text, kPieceBytes) > 0) {
    if (text.size() > most_bytes) too_large(file, text.size(), most_bytes);
  }
  return text;
}

bool begins_with(const std::filesystem::path& path, std::string_view bytes) {
  const RegularFile file(path);
  std::string text;
  while (text.size() < bytes.size() && append(file, text, bytes.size() - text.size()) > 0) continue;
  return text == bytes;
}

}  // namespace ingle
