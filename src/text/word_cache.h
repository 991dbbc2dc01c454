// From a word's bytes to its ids, for words that came by before: a table of fixed size where a newer word takes the
// place of an older one. One look-up is one cache line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "text/token_map.h"

namespace ingle {

// Not thread-safe. 4 MiB once it is used.
class WordCache {
 public:
  static constexpr size_t kLongestWord = 32;
  static constexpr size_t kMostIds = 7;
  // What the ids of a word depend on beside its bytes.
  enum class Space : uint8_t { kWord, kPart };

  // A word of 1 to kLongestWord bytes, made ready for looking up.
  class Key {
   public:
    Key(std::string_view word, Space space) noexcept {
      const char* p = word.data();
      const size_t n = word.size();
      if (n > 16) {
        parts_[0] = load<uint64_t>(p);
        parts_[1] = load<uint64_t>(p + 8);
        parts_[2] = load<uint64_t>(p + n - 16);
        parts_[3] = load<uint64_t>(p + n - 8);
      } else if (n >= 8) {
        parts_[0] = load<uint64_t>(p);
        parts_[1] = load<uint64_t>(p + n - 8);
      } else if (n >= 4) {
        parts_[0] = load<uint32_t>(p);
        parts_[1] = load<uint32_t>(p + n - 4);
      } else {  // first, middle and last byte are all there are
        parts_[0] = static_cast<unsigned char>(p[0]) | static_cast<unsigned char>(p[n / 2]) << 8 |
                    static_cast<unsigned char>(p[n - 1]) << 16;
      }
      size_ = static_cast<uint16_t>(n | static_cast<size_t>(space) << 8);
    }

   private:
    friend class WordCache;
    template <class T>
    static uint64_t load(const char* p) noexcept {
      T value;
      std::memcpy(&value, p, sizeof(value));
      return value;
    }
    uint64_t hash() const noexcept {
      using token_map_detail::mix;
      return mix((parts_[0] ^ size_) * 0x9E3779B97F4A7C15u ^ parts_[1]) ^
             mix(parts_[2] * 0xC2B2AE3D27D4EB4Fu ^ parts_[3]);
    }

    uint64_t parts_[4] = {};
    uint16_t size_;  // 0 in an empty slot
  };

  // nullopt-like: a span without data when the word is not there (a word may have no ids).
  std::span<const int32_t> find(const Key& key) const noexcept {
    if (slots_.empty()) return {};
    const Slot& slot = slots_[key.hash() & (kSlots - 1)];
    if (slot.size != key.size_ || std::memcmp(slot.parts, key.parts_, sizeof(slot.parts)) != 0) return {};
    return {slot.ids, slot.count};
  }

  void insert(const Key& key, std::span<const int32_t> ids) {
    if (ids.size() > kMostIds) return;
    if (slots_.empty()) slots_.resize(kSlots);
    Slot& slot = slots_[key.hash() & (kSlots - 1)];
    std::memcpy(slot.parts, key.parts_, sizeof(slot.parts));
    slot.size = key.size_;
    slot.count = static_cast<uint16_t>(ids.size());
    std::ranges::copy(ids, slot.ids);
  }

 private:
  static constexpr size_t kSlots = 1 << 16;

  struct alignas(64) Slot {
    uint64_t parts[4] = {};
    int32_t ids[kMostIds] = {};
    uint16_t size = 0;
    uint16_t count = 0;
  };
  static_assert(sizeof(Slot) == 64);

  std::vector<Slot> slots_;
};

}  // namespace ingle
