#include "backend/cpu/arena.h"

#include <algorithm>

namespace ingle::cpu {
namespace {

constexpr size_t kFirstChunk = size_t{1} << 20;

}  // namespace

std::byte* Arena::allocate(size_t bytes) {
  bytes = (bytes + 63) & ~size_t{63};
  if (chunks_.empty() || used_ + bytes > chunks_.back().size()) {
    const size_t last = chunks_.empty() ? kFirstChunk / 2 : chunks_.back().size();
    chunks_.emplace_back(std::max(bytes, 2 * last));
    used_ = 0;
  }
  std::byte* result = chunks_.back().data() + used_;
  used_ += bytes;
  step_bytes_ += bytes;
  return result;
}

void Arena::reset() {
  if (chunks_.size() > 1) {
    const size_t wanted = step_bytes_ + step_bytes_ / 8;
    chunks_.clear();
    chunks_.emplace_back(wanted);
  }
  used_ = 0;
  step_bytes_ = 0;
}

size_t Arena::capacity() const noexcept {
  size_t bytes = 0;
  for (const AlignedBuffer& chunk : chunks_) bytes += chunk.size();
  return bytes;
}

}  // namespace ingle::cpu
