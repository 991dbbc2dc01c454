// Two open-addressing hash tables for the tokenizers' inner loops: from text to a token, and from a pair of numbers to
// a small value. Looking up allocates nothing. The seed differs from run to run, so a file cannot bring its own
// collisions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace ingle {

namespace token_map_detail {

inline uint64_t mix(uint64_t x) noexcept {
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  return x ^ x >> 29;
}

inline uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// At most half full.
inline size_t slots_for(size_t entries) { return std::bit_ceil(entries * 2 + 2); }

}  // namespace token_map_detail

// Keys are views; the bytes belong to somebody who lives longer.
class TextMap {
 public:
  explicit TextMap(size_t capacity)
      : seed_(token_map_detail::random_seed()), slots_(token_map_detail::slots_for(capacity)) {}

  // False, and nothing happens, when the key is there already. At most `capacity` keys.
  bool insert(std::string_view key, int32_t value) {
    const uint32_t h = hash(key);
    for (size_t i = h & mask();; i = (i + 1) & mask()) {
      Slot& slot = slots_[i];
      if (slot.value < 0) {
        slot = {key.data(), key.size(), h, value};
        return true;
      }
      if (slot.hash == h && std::string_view(slot.data, slot.size) == key) return false;
    }
  }

  // -1 when absent.
  int32_t find(std::string_view key) const noexcept {
    const uint32_t h = hash(key);
    for (size_t i = h & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.value < 0) return -1;
      if (slot.hash == h && slot.size == key.size() && std::memcmp(slot.data, key.data(), key.size()) == 0) {
        return slot.value;
      }
    }
  }

 private:
  struct Slot {
    const char* data = nullptr;
    size_t size = 0;
    uint32_t hash = 0;
    int32_t value = -1;
  };

  size_t mask() const noexcept { return slots_.size() - 1; }
  uint32_t hash(std::string_view key) const noexcept {
    uint64_t h = seed_ ^ key.size();
    size_t i = 0;
    for (uint64_t eight; i + 8 <= key.size(); i += 8) {
      std::memcpy(&eight, key.data() + i, 8);
      h = token_map_detail::mix(h ^ eight);
    }
    uint64_t tail = 0;
    if (i < key.size()) std::memcpy(&tail, key.data() + i, key.size() - i);
    return static_cast<uint32_t>(token_map_detail::mix(h ^ tail) >> 16);
  }

  uint64_t seed_;
  std::vector<Slot> slots_;
};

// Keys are pairs of non-negative numbers below 2^31.
template <class Value>
class PairMap {
 public:
  explicit PairMap(size_t capacity)
      : seed_(token_map_detail::random_seed()), slots_(token_map_detail::slots_for(capacity)) {}

  bool insert(int32_t first, int32_t second, Value value) {
    const uint64_t key = pack(first, second);
    for (size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == kEmpty) {
        slots_[i] = {key, value};
        return true;
      }
      if (slots_[i].key == key) return false;
    }
  }

  const Value* find(int32_t first, int32_t second) const noexcept {
    const uint64_t key = pack(first, second);
    for (size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Value value{};
  };

  static uint64_t pack(int32_t first, int32_t second) noexcept {
    return uint64_t{static_cast<uint32_t>(first)} << 32 | static_cast<uint32_t>(second);
  }
  size_t start(uint64_t key) const noexcept { return token_map_detail::mix(key ^ seed_) & (slots_.size() - 1); }

  uint64_t seed_;
  std::vector<Slot> slots_;
};

}  // namespace ingle
