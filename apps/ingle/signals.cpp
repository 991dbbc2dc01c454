#include "apps/ingle/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "apps/ingle/exit_code.h"
#include "apps/ingle/terminal.h"
#include "ingle/mapped_files.h"
#include "ingle/unfinished_file.h"

namespace ingle::app {
namespace {

constexpr unsigned kGraceSeconds = 5;  // a container's supervisor kills after ten

// A signal handler can reach nothing but globals.
std::atomic<int> interrupts{0}, ending{0};
std::atomic<bool> heeded{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// All of these are async-signal-safe.

void leave_nothing_behind() noexcept {
  remove_unfinished_files();
  restore_terminal();
}

[[noreturn]] void end_now(int signal) noexcept {
  leave_nothing_behind();
  write_if_ready(STDERR_FILENO, "ingle: interrupted\n");
  ::_exit(signal_status(signal));
}

void on_interrupt(int signal) {
  if (interrupts.fetch_add(1) >= 2 && !heeded) end_now(signal);
}

void on_grace_over(int) { end_now(ending); }

void on_death(int signal) {
  leave_nothing_behind();
  ::raise(signal);  // by SA_RESETHAND it does what it would have done
}

// A page of a file in memory that is no longer there.
void on_bus_error(int signal, siginfo_t* fault, void*) {
  static std::atomic<bool> first{true};
  if (!first.exchange(false))
    for (;;) ::pause();  // other threads need the page too: the first of them speaks
  leave_nothing_behind();
  if (const char* name = fault->si_code > 0 ? mapped_file_at(fault->si_addr) : nullptr) {  // not somebody's kill
    write_if_ready(STDERR_FILENO, "ingle: ");
    write_if_ready(STDERR_FILENO, {name, std::strlen(name)});
    write_if_ready(STDERR_FILENO, ": became shorter while it was in use, or its disk failed; see to the file first\n");
    ::_exit(exit_status(ErrorCode::kIo));
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void set(int signal, void (*handler)(int), int flags = 0) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

void set_unless_ignored(int signal, void (*handler)(int), int flags = 0) noexcept {
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) set(signal, handler, flags);
}

void on_ending(int signal) {
  int none = 0;
  if (!ending.compare_exchange_strong(none, signal)) return;
  set(SIGALRM, on_grace_over);
  ::alarm(kGraceSeconds);
}

}  // namespace

void install_signal_handlers() noexcept {
  set_unless_ignored(SIGINT, on_interrupt);
  set_unless_ignored(SIGTERM, on_ending);
  set_unless_ignored(SIGHUP, on_ending);
  set_unless_ignored(SIGQUIT, on_death, SA_RESETHAND);
  set(SIGABRT, on_death, SA_RESETHAND);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
  set(SIGPIPE, SIG_IGN);
  set(SIGXFSZ, SIG_IGN);
}

bool interrupted() noexcept {
  return interrupts.load(std::memory_order_relaxed) > 0 || ending.load(std::memory_order_relaxed) != 0;
}

void clear_interrupt() noexcept { interrupts = 0; }

int ending_signal() noexcept { return ending; }

HeedsInterrupts::HeedsInterrupts() noexcept { heeded = true; }
HeedsInterrupts::~HeedsInterrupts() { heeded = false; }

}  // namespace ingle::app
