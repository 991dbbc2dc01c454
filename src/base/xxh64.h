// XXH64 (the xxHash specification, version 0.1.1): a checksum at the speed of memory. Finds damage, not intent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ingle {

// Over any number of pieces; how the bytes are cut does not matter.
class Xxh64 {
 public:
  explicit Xxh64(uint64_t seed = 0) noexcept;
  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
  // Fixed-size numbers, as they lie in memory.
  template <class T>
  void add_number(T value) noexcept {
    add(std::as_bytes(std::span(&value, 1)));
  }
  uint64_t value() const noexcept;  // of what was added so far

 private:
  static constexpr size_t kStripe = 32;
  void add_stripe(const std::byte* stripe) noexcept;

  uint64_t seed_;
  std::array<uint64_t, 4> lanes_;
  std::array<std::byte, kStripe> rest_{};  // bytes that do not fill a stripe yet
  size_t rest_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

inline uint64_t xxh64(std::span<const std::byte> bytes) noexcept {
  Xxh64 hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace ingle
