// The program on a terminal of its own, seen as by somebody who types.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ingle::test {

class TerminalProgram {
 public:
  // Runs `ingle WORDS...`; what it keeps of the user is in `state`.
  TerminalProgram(const std::vector<std::string>& words, const std::filesystem::path& state) {
    winsize size{.ws_row = 50, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::openpty(&master_, &slave_, nullptr, nullptr, &size) != 0) throw std::runtime_error("no terminal to be had");
    process_ = ::fork();
    if (process_ != 0) return;
    ::close(master_);
    ::login_tty(::dup(slave_));
    ::close(slave_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_DFL);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::setenv("XDG_STATE_HOME", state.c_str(), 1);
    ::setenv("TERM", "xterm", 1);
    // libedit never frees the names of functions that it was given.
    const char* sanitizer = ::getenv("ASAN_OPTIONS");
    ::setenv("ASAN_OPTIONS", (std::string(sanitizer != nullptr ? sanitizer : "") + ":detect_leaks=0").c_str(), 1);
    std::vector<char*> arguments = {const_cast<char*>("ingle")};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(INGLE_PROGRAM, arguments.data());
    ::_exit(127);
  }
  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;
  ~TerminalProgram() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    hang_up();
    ::close(slave_);
  }

  void type(std::string_view text) {
    const ssize_t written = ::write(master_, text.data(), text.size());
    EXPECT_EQ(written, static_cast<ssize_t>(text.size()));
  }

  // Reads on until it has shown `text`; what came up to there is not looked at again.
  testing::AssertionResult shows(std::string_view text) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      if (const size_t found = shown_.find(text); found != shown_.npos) {
        shown_.erase(0, found + text.size());
        return testing::AssertionSuccess();
      }
      if (std::chrono::steady_clock::now() > deadline || !read_some())
        return testing::AssertionFailure() << "no '" << text << "' in: " << shown_;
    }
  }

  // Until it waits for somebody to read what it shows.
  void let_it_fill_the_terminal() const {
    for (int before = -1, held = 0; before != held; ::usleep(200'000)) {
      before = held;
      ::ioctl(master_, FIONREAD, &held);
    }
  }

  void send(int signal) { ::kill(process_, signal); }
  void hang_up() {
    if (master_ >= 0) ::close(std::exchange(master_, -1));
  }

  // How it ended: its status, or minus the signal that killed it. With `look_away` nobody reads what it shows
  // meanwhile.
  int wait(bool look_away = false) {
    int status = 0;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (::waitpid(process_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) return -SIGKILL;  // the destructor does
      if (look_away || master_ < 0 || !read_some()) ::usleep(10'000);
    }
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Whether the terminal is as it was given to the program: lines are read, and keys show.
  bool terminal_is_restored() const {
    termios modes{};
    ::tcgetattr(slave_, &modes);
    return (modes.c_lflag & (ICANON | ECHO | ISIG)) == (ICANON | ECHO | ISIG);
  }
  // Until it is not: a prompt shows before keys are read.
  bool changes_terminal() const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (terminal_is_restored() && std::chrono::steady_clock::now() < deadline) ::usleep(1'000);
    return !terminal_is_restored();
  }

 private:
  static constexpr std::chrono::seconds kPatience{60};

  // Whether there may be more.
  bool read_some() {
    pollfd ready{.fd = master_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 50) == 0) return true;
    char bytes[1024];
    const ssize_t count = ::read(master_, bytes, sizeof bytes);
    if (count <= 0) return false;
    shown_.append(bytes, static_cast<size_t>(count));
    return true;
  }

  int master_ = -1, slave_ = -1;
  pid_t process_ = -1;
  std::string shown_;
};

}  // namespace ingle::test
