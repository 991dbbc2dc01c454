// Differences between processors and systems that cannot be a matter of files.
#pragma once

namespace ingle {

// Tells the processor that this is a waiting loop.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace ingle
