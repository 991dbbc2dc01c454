// XXH64 by libxxhash: a checksum at the speed of memory. Finds damage, not intent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

struct XXH64_state_s;

namespace ingle {

// Over any number of pieces; how the bytes are cut does not matter.
class Xxh64 {
 public:
  explicit Xxh64(uint64_t seed = 0);
  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
  // Fixed-size numbers, as they lie in memory.
  template <class T>
  void add_number(T value) noexcept {
    add(std::as_bytes(std::span(&value, 1)));
  }
  uint64_t value() const noexcept;  // of what was added so far

 private:
  struct Free {
    void operator()(XXH64_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH64_state_s, Free> state_;
};

uint64_t xxh64(std::span<const std::byte> bytes) noexcept;

}  // namespace ingle
