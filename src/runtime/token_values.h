// A number for some of the vocabulary's tokens: look-up, change and removal in constant time, a walk over those present
// in time proportional to their number, no allocation after the first. (Briggs and Torczon's sparse set, with values.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ingle {

class TokenValues {
 public:
  struct Entry {
    int32_t token;
    int32_t value;
  };

  explicit TokenValues(int32_t vocab) : slot_(static_cast<size_t>(vocab), kAbsent) {}

  std::span<const Entry> entries() const noexcept { return entries_; }  // in the order they came, as long as none left

  const int32_t* find(int32_t token) const noexcept {
    const int32_t slot = slot_[static_cast<size_t>(token)];
    return slot == kAbsent ? nullptr : &entries_[static_cast<size_t>(slot)].value;
  }

  int32_t& operator[](int32_t token) {  // 0 when new
    int32_t& slot = slot_[static_cast<size_t>(token)];
    if (slot == kAbsent) {
      slot = static_cast<int32_t>(entries_.size());
      entries_.push_back({token, 0});
    }
    return entries_[static_cast<size_t>(slot)].value;
  }

  void erase(int32_t token) noexcept {  // present
    int32_t& slot = slot_[static_cast<size_t>(token)];
    const Entry last = entries_.back();
    entries_[static_cast<size_t>(slot)] = last;
    slot_[static_cast<size_t>(last.token)] = slot;
    slot = kAbsent;
    entries_.pop_back();
  }

  void clear() noexcept {
    for (const Entry& e : entries_) slot_[static_cast<size_t>(e.token)] = kAbsent;
    entries_.clear();
  }

 private:
  static constexpr int32_t kAbsent = -1;
  std::vector<int32_t> slot_;  // [vocab], place in entries_
  std::vector<Entry> entries_;
};

}  // namespace ingle
