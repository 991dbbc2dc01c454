// The generator behind every draw: xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
// ACM TOMS 2021), its state filled from the seed by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) as its authors
// advise. Integers and one exact conversion only, so a seed means the same everywhere.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace ingle {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) noexcept : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

class Random {
 public:
  explicit Random(uint64_t seed) noexcept {
    SplitMix64 fill(seed);
    for (uint64_t& word : state_) word = fill.next();
  }
  explicit Random(const std::array<uint64_t, 4>& state) noexcept : state_(state) {}  // not all zero

  uint64_t next() noexcept {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1): the upper 53 bits, all a double holds.
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace ingle
