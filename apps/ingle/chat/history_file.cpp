#include "apps/ingle/chat/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace ingle::app {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// At its end, and no other chat's until it is closed; null if it cannot be written.
File open_locked(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  File file(descriptor < 0 ? nullptr : ::fdopen(descriptor, "a"), std::fclose);
  if (!file) return file;
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {  // a file system without locks does without
  }
  ::fchmod(descriptor, 0600);  // what somebody says is nobody else's business
  std::fseek(file.get(), 0, SEEK_END);
  return file;
}

}  // namespace

HistoryFile::Lines HistoryFile::no_lines() {
  Lines lines(history_init(), history_end);
  HistEvent event;
  history(lines.get(), &event, H_SETSIZE, kLines);
  history(lines.get(), &event, H_SETUNIQUE, 1);
  return lines;
}

HistoryFile::HistoryFile(std::filesystem::path path) : path_(std::move(path)), lines_(no_lines()) {
  HistEvent event;
  history(lines_.get(), &event, H_LOAD, path_.c_str());
}

void HistoryFile::add(const std::string& text) {
  HistEvent event;
  history(lines_.get(), &event, H_ENTER, text.c_str());
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  const File file = open_locked(path_);
  if (!file) return;
  const Lines added = no_lines();
  history(added.get(), &event, H_ENTER, text.c_str());
  history(added.get(), &event, H_SAVE_FP, file.get());  // with a heading if the file is empty
}

HistoryFile::~HistoryFile() {
  if (std::error_code ignored; !std::filesystem::exists(path_, ignored)) return;
  const File file = open_locked(path_);
  if (!file) return;
  const Lines newest = no_lines();
  HistEvent event;
  if (history(newest.get(), &event, H_LOAD, path_.c_str()) <= kLines) return;
  if (::ftruncate(::fileno(file.get()), 0) != 0) return;
  std::rewind(file.get());
  history(newest.get(), &event, H_SAVE_FP, file.get());
}

}  // namespace ingle::app
