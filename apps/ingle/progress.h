// How far long work has come: a bar on a terminal's stderr, rewritten in place; elsewhere one plain line at the end.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace ingle::app {

class Progress {
 public:
  explicit Progress(std::string label);  // "loading smollm2"
  ~Progress();                           // removes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(double fraction, std::string_view remark = {});
  // Removes the bar. Where there is none, says `done` in a line if the work took long enough to wonder about.
  void finish(std::string_view done);
  double seconds() const;

 private:
  void erase() noexcept;

  std::string label_;
  std::chrono::steady_clock::time_point start_, shown_;
  bool terminal_, drawn_ = false;
};

}  // namespace ingle::app
