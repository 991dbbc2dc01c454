#include "apps/ingle/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "apps/ingle/exit_code.h"

namespace ingle::app {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_interrupt(int) {
  if (interrupts.fetch_add(1) >= 2) ::_exit(kInterrupted);
}

}  // namespace

void install_signal_handlers() noexcept {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() noexcept { return interrupts.load(std::memory_order_relaxed) > 0; }

void clear_interrupt() noexcept { interrupts.store(0); }

}  // namespace ingle::app
