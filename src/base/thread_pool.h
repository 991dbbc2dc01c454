// A fixed set of threads that wait for short parallel regions: they spin briefly, then sleep. Entering and leaving a
// region costs about a microsecond while they spin.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace ingle {

// Callers in several threads take turns; regions do not nest. The caller is thread 0. Regions must not throw.
class ThreadPool {
 public:
  // `threads`: at least 1. Throws Error{kOutOfMemory} where the system does not let so many start.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return size_; }

  // Calls region(thread) once on every thread and returns when all have finished.
  template <class F>
  void run(F&& region) {
    run_erased([](void* f, int thread) { (*static_cast<std::remove_reference_t<F>*>(f))(thread); }, &region);
  }

  // Inside a region: every thread waits until all have arrived. All threads must call it equally often.
  void barrier() noexcept;

 private:
  using Region = void (*)(void*, int);
  void run_erased(Region region, void* argument);
  void work(int thread);
  void stop() noexcept;  // ends the threads that have started

  const int size_;
  std::mutex turn_;  // held for a region
  std::vector<std::thread> threads_;
  Region region_ = nullptr;
  void* argument_ = nullptr;
  bool stop_ = false;
  alignas(64) std::atomic<uint32_t> generation_{0};  // bumped to start a region
  alignas(64) std::atomic<int32_t> running_{0};      // workers still inside
  alignas(64) std::atomic<int32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
};

// Hands out [0, count) in chunks to whoever asks next: work split by what threads manage to do, not by count.
class TaskCounter {
 public:
  explicit TaskCounter(int64_t count, int64_t chunk = 1) : count_(count), chunk_(chunk < 1 ? 1 : chunk) {}
  // False when nothing is left.
  bool next(int64_t& begin, int64_t& end) noexcept {
    begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
    if (begin >= count_) return false;
    end = begin + chunk_ < count_ ? begin + chunk_ : count_;
    return true;
  }

 private:
  const int64_t count_, chunk_;
  alignas(64) std::atomic<int64_t> next_{0};
};

}  // namespace ingle
