// Has the system read a mapped file ahead of whoever uses its bytes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>

namespace ingle {

// Asks for pages from a thread of its own, because asking takes time too: the system finds memory for them meanwhile.
// Where no thread can be had, nothing is read ahead.
class ReadAhead {
 public:
  ReadAhead() noexcept;

  // These bytes of a mapping, which must outlive this object, are used next. Returns at once. What was asked for by the
  // requests before it is not asked for again as long as each begins inside of that; what they left over is given up.
  // One call at a time.
  void want(std::span<const std::byte> bytes) noexcept;

 private:
  void ask(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::span<const std::byte> wanted_;  // not asked for yet
  const std::byte* first_ = nullptr;   // of the stretch that the requests cover
  const std::byte* asked_ = nullptr;   // its end, as far as it was asked for
  std::jthread thread_;                // ends before the rest goes
};

}  // namespace ingle
