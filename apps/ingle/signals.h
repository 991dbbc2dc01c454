// Signals as flags that loops look at, instead of a sudden end; and what a sudden end leaves behind: nothing.
#pragma once

namespace ingle::app {

// SIGINT (Ctrl-C), SIGTERM and SIGHUP set the flag. The third SIGINT that nobody heeded, and SIGTERM or SIGHUP that
// nobody heeded for five seconds, end the program with status 128 + signal; SIGQUIT (Ctrl-\) kills it at once. Each of
// them removes unfinished files first and leaves the terminal as it was. What the parent ignores, as nohup does, stays
// ignored. SIGPIPE and SIGXFSZ are ignored, so that writing to a closed pipe or beyond a limit fails instead of
// killing. SIGBUS for a page of a mapped file that is no longer there names the file and ends with the status of kIo.
// System calls are interrupted, not restarted.
void install_signal_handlers() noexcept;

bool interrupted() noexcept;
void clear_interrupt() noexcept;  // forgets SIGINT; SIGTERM and SIGHUP stay
int ending_signal() noexcept;     // SIGTERM or SIGHUP, whichever came first; 0: neither

// While it lives, SIGINT sets the flag and no more, however often it comes: for a loop that heeds each of them.
class HeedsInterrupts {
 public:
  HeedsInterrupts() noexcept;
  ~HeedsInterrupts();
  HeedsInterrupts(const HeedsInterrupts&) = delete;
  HeedsInterrupts& operator=(const HeedsInterrupts&) = delete;
};

}  // namespace ingle::app
