#include "base/thread_pool.h"

#include <system_error>

#include "base/error.h"
#include "base/platform.h"

namespace ingle {
namespace {

// A pause takes 40-140 cycles: some 50 microseconds before a thread goes to sleep, longer than the gaps inside a step.
constexpr int kSpins = 1500;

template <class Atomic, class Value>
void wait_while_equal(const Atomic& atomic, Value value) noexcept {
  for (int i = 0; i < kSpins; ++i) {
    if (atomic.load(std::memory_order_acquire) != value) return;
    spin_pause();
  }
  while (atomic.load(std::memory_order_acquire) == value) atomic.wait(value, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int threads) : size_(threads) {
  INGLE_CHECK(threads >= 1);
  threads_.reserve(static_cast<size_t>(threads - 1));
  try {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& error) {
    const size_t started = threads_.size();
    stop();
    throw_error(ErrorCode::kOutOfMemory,
                "threads: of {} the system let {} start ({}); use fewer, or raise the limits "
                "on processes and memory",
                threads, started + 1, error.code().message());
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() noexcept {
  stop_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run_erased(Region region, void* argument) {
  if (size_ == 1) return region(argument, 0);
  const std::lock_guard turn(turn_);
  region_ = region;
  argument_ = argument;
  running_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  region(argument, 0);
  for (int32_t left = running_.load(std::memory_order_acquire); left != 0;
       left = running_.load(std::memory_order_acquire)) {
    wait_while_equal(running_, left);
  }
}

void ThreadPool::work(int thread) {
  uint32_t seen = 0;
  for (;;) {
    wait_while_equal(generation_, seen);
    ++seen;
    if (stop_) return;
    region_(argument_, thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void ThreadPool::barrier() noexcept {
  if (size_ == 1) return;
  const uint32_t phase = phase_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
  } else {
    wait_while_equal(phase_, phase);
  }
}

}  // namespace ingle
