#include "base/xxh64.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ingle {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in memory");

constexpr uint64_t kPrime1 = 0x9e3779b185ebca87, kPrime2 = 0xc2b2ae3d27d4eb4f, kPrime3 = 0x165667b19e3779f9,
                   kPrime4 = 0x85ebca77c2b2ae63, kPrime5 = 0x27d4eb2f165667c5;

template <class T>
T read(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) noexcept { return std::rotl(lane + input * kPrime2, 31) * kPrime1; }

}  // namespace

Xxh64::Xxh64(uint64_t seed) noexcept
    : seed_(seed), lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1} {}

void Xxh64::add_stripe(const std::byte* stripe) noexcept {
  for (size_t i = 0; i < lanes_.size(); ++i) lanes_[i] = round(lanes_[i], read<uint64_t>(stripe + 8 * i));
}

void Xxh64::add(std::span<const std::byte> bytes) noexcept {
  total_bytes_ += bytes.size();
  if (rest_bytes_ > 0) {
    const size_t count = std::min(kStripe - rest_bytes_, bytes.size());
    std::copy_n(bytes.begin(), count, rest_.begin() + static_cast<ptrdiff_t>(rest_bytes_));
    rest_bytes_ += count;
    bytes = bytes.subspan(count);
    if (rest_bytes_ < kStripe) return;
    add_stripe(rest_.data());
    rest_bytes_ = 0;
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) add_stripe(bytes.data());
  std::ranges::copy(bytes, rest_.begin());
  rest_bytes_ = bytes.size();
}

uint64_t Xxh64::value() const noexcept {
  uint64_t hash = seed_ + kPrime5;
  if (total_bytes_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += total_bytes_;
  const std::byte* at = rest_.data();
  size_t left = rest_bytes_;
  for (; left >= 8; at += 8, left -= 8) hash = std::rotl(hash ^ round(0, read<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  for (; left >= 4; at += 4, left -= 4) hash = std::rotl(hash ^ read<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; left > 0; ++at, --left) hash = std::rotl(hash ^ std::to_integer<uint64_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace ingle
