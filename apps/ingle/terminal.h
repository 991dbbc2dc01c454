// What the program writes: answers on stdout, everything else on stderr; and what it knows about the terminal.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

struct termios;

namespace ingle::app {

// Bytes to stdout, at once. Throws Error{kIo} that says what is wrong with it (closed, full disk).
void write_stdout(std::string_view text);

template <class... Args>
void put(fmt::format_string<Args...> format, Args&&... args) {
  write_stdout(fmt::format(format, std::forward<Args>(args)...));
}

// To stderr; that nobody can read it is no reason to stop.
void write_stderr(std::string_view text) noexcept;

template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  write_stderr(fmt::format(format, std::forward<Args>(args)...) + "\n");
}

bool stdin_is_terminal() noexcept;
bool stdout_is_terminal() noexcept;
bool stderr_is_terminal() noexcept;
int terminal_width() noexcept;  // of stdout, or of stderr; 80 when neither is a terminal

// A descriptor 0, 1 or 2 that came closed is opened on nothing, so that no file of ours takes its number by chance:
// writing to a closed stdout must fail, not land in a model.
void occupy_standard_streams() noexcept;

// Writes what can be written without waiting. Async-signal-safe.
void write_if_ready(int descriptor, std::string_view text) noexcept;

// While it lives, restore_terminal() puts the terminal on stdin back as it was when this was made. One at a time.
class TerminalKeeper {
 public:
  TerminalKeeper() noexcept;
  ~TerminalKeeper();
  TerminalKeeper(const TerminalKeeper&) = delete;
  TerminalKeeper& operator=(const TerminalKeeper&) = delete;
};

// For a sudden end: async-signal-safe, and without effect from the background, where the terminal is somebody else's.
void restore_terminal() noexcept;

// While it lives, the terminal marks where pasted text begins and ends: "\x1b[200~" and "\x1b[201~". Throws what
// write_stdout() does.
class PasteMarks {
 public:
  PasteMarks();
  ~PasteMarks();
  PasteMarks(const PasteMarks&) = delete;
  PasteMarks& operator=(const PasteMarks&) = delete;
};

// While it lives, the terminal on stdin does not show what is typed: keys pressed during an answer wait for the next
// prompt instead of getting between its words. Ctrl-C works.
class QuietKeys {
 public:
  QuietKeys();
  ~QuietKeys();
  QuietKeys(const QuietKeys&) = delete;
  QuietKeys& operator=(const QuietKeys&) = delete;

 private:
  std::unique_ptr<termios> before_;
};

// Puts the process in a UTF-8 locale for character widths and editing, the user's own if it is one.
void use_utf8_locale() noexcept;

// The columns that `text` takes on a terminal; wide and combining characters are counted as such.
int display_width(std::string_view text) noexcept;

// `text` filled up with spaces to `width` columns on its right.
std::string pad(std::string_view text, int width);

// Control characters (and bytes that are no UTF-8) made visible, as "\x1b" or "\n": a file's strings must not steer
// the terminal.
std::string printable(std::string_view text);

// The text broken at spaces into lines of at most `width` columns; a longer word keeps a line of its own.
std::string wrap(std::string_view text, int width, int indent);

std::string format_bytes(double bytes);      // "98.9 MB"; powers of 1000
std::string format_count(double count);      // "134.5 M"
std::string format_seconds(double seconds);  // "12.3 ms"

}  // namespace ingle::app
