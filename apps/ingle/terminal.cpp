#include "apps/ingle/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstring>
#include <cwchar>

#include "apps/ingle/fail.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

// Returns 0, or the errno of what went wrong.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

constexpr std::string_view kPasteMarksOn = "\x1b[?2004h", kPasteMarksOff = "\x1b[?2004l";

// What restore_terminal() has to know, which a signal handler calls.
termios modes_before;
std::atomic<bool> modes_kept{false}, paste_marked{false};

std::string scaled(double value, double base, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; value >= base * 0.9995 && unit + 1 != units.end(); ++unit) value /= base;
  if (unit == units.begin()) return fmt::format("{:.0f} {}", value, *unit);
  return fmt::format("{:.{}f} {}", value, value < 99.95 ? 1 : 0, *unit);
}

}  // namespace

void write_stdout(std::string_view text) {
  switch (const int error = write_all(STDOUT_FILENO, text)) {
    case 0:
      return;
    case EPIPE:
      fail(ErrorCode::kIo, "standard output: the reader has closed the pipe");
    case EBADF:
      fail(ErrorCode::kIo, "standard output is closed; redirect it to a file or to /dev/null");
    default:
      fail(ErrorCode::kIo, "standard output: {}", std::strerror(error));
  }
}

void write_stderr(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

bool stdin_is_terminal() noexcept { return ::isatty(STDIN_FILENO) == 1; }
bool stdout_is_terminal() noexcept { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

int terminal_width() noexcept {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

void occupy_standard_streams() noexcept {
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0)
      ::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);  // takes the lowest free number: this one
}

void write_if_ready(int descriptor, std::string_view text) noexcept {
  pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) == 1) (void)!::write(descriptor, text.data(), text.size());
}

TerminalKeeper::TerminalKeeper() noexcept { modes_kept = ::tcgetattr(STDIN_FILENO, &modes_before) == 0; }
TerminalKeeper::~TerminalKeeper() { modes_kept = false; }

void restore_terminal() noexcept {
  if (!modes_kept || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
  if (paste_marked) write_if_ready(STDOUT_FILENO, kPasteMarksOff);
}

PasteMarks::PasteMarks() {
  write_stdout(kPasteMarksOn);
  paste_marked = true;
}

PasteMarks::~PasteMarks() {
  paste_marked = false;
  write_all(STDOUT_FILENO, kPasteMarksOff);
}

QuietKeys::QuietKeys() {
  termios modes{};
  if (::tcgetattr(STDIN_FILENO, &modes) != 0) return;
  before_ = std::make_unique<termios>(modes);
  // Without ICANON too: a Ctrl-D typed meanwhile would otherwise wait as an end of file that no editor understands.
  modes.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

QuietKeys::~QuietKeys() {
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, before_.get());
}

void use_utf8_locale() noexcept {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX < 4) std::setlocale(LC_CTYPE, "C.UTF-8");
}

int display_width(std::string_view text) noexcept {
  int width = 0;
  while (!text.empty()) {
    const Utf8Character c = first_character(text);
    width += c.valid ? std::max(::wcwidth(static_cast<wchar_t>(c.code_point)), 0) : 1;
    text.remove_prefix(c.length);
  }
  return width;
}

std::string pad(std::string_view text, int width) {
  std::string padded(text);
  padded.append(static_cast<size_t>(std::max(0, width - display_width(text))), ' ');
  return padded;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Character c = first_character(text);
    const bool control = c.code_point < 0x20 || (c.code_point >= 0x7f && c.code_point < 0xa0) ||
                         (c.code_point >= 0x200b && c.code_point <= 0x200f) ||  // invisible, or turns the direction
                         (c.code_point >= 0x2028 && c.code_point <= 0x202e) ||
                         (c.code_point >= 0x2066 && c.code_point <= 0x2069) || c.code_point == 0xfeff;
    if (!c.valid) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (c.code_point == '\n') {
      shown += "\\n";
    } else if (c.code_point == '\t') {
      shown += "\\t";
    } else if (c.code_point == '\r') {
      shown += "\\r";
    } else if (control) {
      shown += c.code_point < 0x80 ? fmt::format("\\x{:02x}", uint32_t{c.code_point})
                                   : fmt::format("\\u{{{:x}}}", uint32_t{c.code_point});
    } else {
      shown += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return shown;
}

std::string wrap(std::string_view text, int width, int indent) {
  std::string out;
  int column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const int word_width = display_width(word);
    if (column > 0 && column + 1 + word_width > width) {
      out += '\n';
      out.append(static_cast<size_t>(indent), ' ');
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word_width;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string format_bytes(double bytes) { return scaled(bytes, 1000, {"B", "kB", "MB", "GB", "TB"}); }

std::string format_count(double count) { return scaled(count, 1000, {"", "k", "M", "B", "T"}); }

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{:.0f} min {:02.0f} s", static_cast<double>(static_cast<int64_t>(seconds) / 60),
                     static_cast<double>(static_cast<int64_t>(seconds) % 60));
}

}  // namespace ingle::app
