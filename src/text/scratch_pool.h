// Working memory that outlives a call, for const methods that many threads call at once.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ingle {

// Thread-safe. Holds as many as were ever in use at the same time, but no more than kKept.
template <class Scratch>
class ScratchPool {
 public:
  static constexpr size_t kKept = 32;

  // One of them for the time of a call.
  class Lease {
   public:
    explicit Lease(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    Lease(const Lease&) = delete;
    ~Lease() { pool_.give_back(std::move(scratch_)); }

    Scratch& operator*() const noexcept { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::unique_ptr<Scratch> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Scratch> last = std::move(free_.back());
        free_.pop_back();
        return last;
      }
    }
    return std::make_unique<Scratch>();
  }
  void give_back(std::unique_ptr<Scratch> scratch) {
    const std::lock_guard lock(mutex_);
    if (free_.size() < kKept) free_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace ingle
