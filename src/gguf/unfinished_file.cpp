#include "ingle/unfinished_file.h"

#include <unistd.h>

#include <utility>

#include "base/signal_set.h"

namespace ingle {
namespace {

constinit SignalSet<const std::filesystem::path> marked;  // a signal handler can reach nothing but a global

}  // namespace

struct UnfinishedFile::Mark {
  SignalSet<const std::filesystem::path>::Member path;
};

UnfinishedFile::UnfinishedFile() noexcept = default;
UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept = default;

UnfinishedFile::UnfinishedFile(std::filesystem::path path)
    : mark_(new Mark{marked.add(std::make_unique<const std::filesystem::path>(std::move(path)))}) {}

UnfinishedFile& UnfinishedFile::operator=(UnfinishedFile&& other) noexcept {
  std::swap(mark_, other.mark_);  // ours goes with `other`
  return *this;
}

UnfinishedFile::~UnfinishedFile() {
  if (mark_ != nullptr) ::unlink(path().c_str());
}

const std::filesystem::path& UnfinishedFile::path() const noexcept { return *mark_->path; }

void UnfinishedFile::finished() noexcept { mark_.reset(); }

void remove_unfinished_files() noexcept {
  marked.take_all([](const std::filesystem::path& path) { ::unlink(path.c_str()); });
}

}  // namespace ingle
