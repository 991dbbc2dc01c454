// Ctrl-C as a flag that loops look at, instead of a sudden end.
#pragma once

namespace ingle::app {

// SIGINT sets the flag; the third one that nobody heeded ends the program with status 130. SIGPIPE is ignored, so that
// writing to a closed pipe fails instead of killing. System calls are interrupted, not restarted.
void install_signal_handlers() noexcept;

bool interrupted() noexcept;
void clear_interrupt() noexcept;

}  // namespace ingle::app
