// What was said in earlier chats, for the line editor. Chats that run at the same time share one file: each adds its
// own lines, at once.
#pragma once

#include <histedit.h>

#include <filesystem>
#include <memory>
#include <string>

namespace ingle::app {

class HistoryFile {
 public:
  // The history is read now. One that cannot be read or written is not kept.
  explicit HistoryFile(std::filesystem::path path);
  ~HistoryFile();  // of the file the newest kLines stay
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  void add(const std::string& text);
  History* lines() const noexcept { return lines_.get(); }

  static constexpr int kLines = 1000;

 private:
  using Lines = std::unique_ptr<History, decltype(&history_end)>;
  static Lines no_lines();

  std::filesystem::path path_;
  Lines lines_;
};

}  // namespace ingle::app
