#include "runtime/xxh64.h"

#include <xxhash.h>

#include <new>

namespace ingle {

Xxh64::Xxh64(uint64_t seed) : state_(XXH64_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH64_reset(state_.get(), seed);
}

void Xxh64::Free::operator()(XXH64_state_s* state) const noexcept { XXH64_freeState(state); }

void Xxh64::add(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) XXH64_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t Xxh64::value() const noexcept { return XXH64_digest(state_.get()); }

uint64_t xxh64(std::span<const std::byte> bytes) noexcept { return XXH64(bytes.data(), bytes.size(), 0); }

}  // namespace ingle
