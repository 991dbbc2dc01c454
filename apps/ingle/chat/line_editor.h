// A line from the terminal with editing, history and completion (libedit), made to understand pasted text of several
// lines and Ctrl-C.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingle::app {

class LineEditor {
 public:
  // Words that may complete `line` (all up to the cursor).
  using Completer = std::function<std::vector<std::string>(const std::string& line)>;

  // The history is a HistoryFile.
  LineEditor(std::filesystem::path history_file, Completer completer);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Outcome { kLine, kInterrupted, kEnd };  // kEnd: Ctrl-D, SIGTERM, SIGHUP
  struct Input {
    Outcome outcome;
    std::string text;  // without the final newline; may hold several lines if pasted. After Ctrl-C: what stood there.
  };
  Input read(const std::string& prompt);
  void remember(const std::string& text);  // adds to the history

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingle::app
