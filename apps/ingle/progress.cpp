#include "apps/ingle/progress.h"

#include <algorithm>

#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

using namespace std::chrono_literals;
constexpr auto kRedraw = 100ms;    // often enough to look alive, rarely enough to cost nothing
constexpr auto kPatience = 300ms;  // work that is done sooner shows no bar
constexpr auto kWonder = 5s;       // work that takes longer says when it is done, where there is no bar
constexpr int kBarWidth = 30;

}  // namespace

Progress::Progress(std::string label)
    : label_(std::move(label)),
      start_(std::chrono::steady_clock::now()),
      shown_(start_ + kPatience - kRedraw),
      terminal_(stderr_is_terminal()) {}

Progress::~Progress() { erase(); }

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::update(double fraction, std::string_view remark) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - shown_ < kRedraw) return;
  shown_ = now;
  drawn_ = true;
  fraction = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(fraction * kBarWidth + 0.5);
  std::string line = fmt::format("{} [{}{}] {:3.0f} % {}", label_, std::string(filled, '#'),
                                 std::string(kBarWidth - filled, ' '), fraction * 100, remark);
  if (display_width(line) >= terminal_width()) line = fmt::format("{} {:.0f} %", label_, fraction * 100);
  write_stderr("\r\x1b[K" + line);
}

void Progress::erase() noexcept {
  if (drawn_) write_stderr("\r\x1b[K");
  drawn_ = false;
}

void Progress::finish(std::string_view done) {
  erase();
  if (!terminal_ && std::chrono::steady_clock::now() - start_ > kWonder) note("{}", done);
}

}  // namespace ingle::app
