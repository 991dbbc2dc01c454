#include "backend/cpu/arena.h"

#include <algorithm>

namespace ingle::cpu {
namespace {

constexpr size_t kFirstChunk = size_t{1} << 20;

}  // namespace

std::byte* Arena::allocate(size_t bytes) {
  bytes = (bytes + 63) & ~size_t{63};
  while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size()) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const size_t last = chunks_.empty() ? kFirstChunk / 2 : chunks_.back().size();
    chunks_.emplace_back(std::max(bytes, 2 * last));
    used_ = 0;
  }
  std::byte* result = chunks_[chunk_].data() + used_;
  used_ += bytes;
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  return result;
}

void Arena::rewind(const Mark& mark) noexcept {
  chunk_ = mark.chunk;
  used_ = mark.used;
  live_ = mark.live;
}

void Arena::reset() {
  if (chunks_.size() > 1) {
    chunks_.clear();
    chunks_.emplace_back(peak_);
  }
  chunk_ = 0;
  used_ = 0;
  live_ = 0;
}

size_t Arena::capacity() const noexcept {
  size_t bytes = 0;
  for (const AlignedBuffer& chunk : chunks_) bytes += chunk.size();
  return bytes;
}

}  // namespace ingle::cpu
