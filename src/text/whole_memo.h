// Remembers tokens whose own text encodes to just that token: a word that is such a token needs no merging. Filled in
// as words come by; what is written is always true, so threads may race to write it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace ingle {

class WholeMemo {
 public:
  explicit WholeMemo(size_t tokens) : whole_(tokens) {}

  bool contains(int32_t id) const noexcept { return whole_[static_cast<size_t>(id)].load(std::memory_order_relaxed); }
  void insert(int32_t id) const noexcept { whole_[static_cast<size_t>(id)].store(true, std::memory_order_relaxed); }

 private:
  mutable std::vector<std::atomic<bool>> whole_;
};

}  // namespace ingle
