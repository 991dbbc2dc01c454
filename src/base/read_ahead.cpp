#include "base/read_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <system_error>

namespace ingle {
namespace {

constexpr size_t kPiece = size_t{4} << 20;  // asked for at once: a new request does not wait for longer

}  // namespace

ReadAhead::ReadAhead() noexcept {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { ask(stop); });
  } catch (const std::system_error&) {
  }
}

void ReadAhead::want(std::span<const std::byte> bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const std::byte* end = bytes.data() + bytes.size();
    const std::less<const std::byte*> before;  // also orders pointers into different mappings
    if (before(bytes.data(), first_) || before(asked_, bytes.data())) first_ = asked_ = bytes.data();
    wanted_ = before(asked_, end) ? std::span(asked_, end) : std::span<const std::byte>();
  }
  changed_.notify_one();
}

void ReadAhead::ask(const std::stop_token& stop) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !wanted_.empty(); })) {
    const std::span<const std::byte> piece = wanted_.first(std::min(wanted_.size(), kPiece));
    wanted_ = wanted_.subspan(piece.size());
    asked_ = piece.data() + piece.size();
    lock.unlock();
    const uintptr_t past_page = reinterpret_cast<uintptr_t>(piece.data()) % page;
    ::madvise(const_cast<std::byte*>(piece.data() - past_page), piece.size() + past_page, MADV_WILLNEED);
    lock.lock();
  }
}

}  // namespace ingle
