#include "gguf/generated.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "gguf/layout.h"

namespace ingle::gguf {

GeneratedData::GeneratedData(uint64_t bytes, std::vector<Part> parts, Fill fill)
    : memory_(std::max<uint64_t>(bytes, 1)), parts_(std::move(parts)), fill_(std::move(fill)) {}

void GeneratedData::fill(size_t index) noexcept {
  if (!fill_) return;  // fresh pages are zeros
  const std::lock_guard lock(mutex_);
  Part& part = parts_[index];
  if (part.filled) return;
  fill_(index, {memory_.data() + part.offset, part.bytes});
  part.filled = true;
  part.dropped = 0;
}

void GeneratedData::drop(const std::byte* data, uint64_t bytes) noexcept {
  const std::less<const std::byte*> before;  // also orders pointers into different mappings
  if (before(data, memory_.data()) || !before(data, memory_.data() + memory_.size())) return;
  const auto offset = static_cast<uint64_t>(data - memory_.data());
  const std::lock_guard lock(mutex_);
  const auto after = std::ranges::upper_bound(parts_, offset, {}, &Part::offset);
  if (after == parts_.begin()) return;
  Part& part = *(after - 1);
  if (part.lasting || !part.filled) return;
  part.dropped += bytes;
  if (part.dropped < part.bytes) return;
  part.filled = false;
  // Whole pages only: the neighbours may be in use.
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t first = align_up(part.offset, page), last = (part.offset + part.bytes) / page * page;
  if (first < last) ::madvise(memory_.data() + first, last - first, MADV_DONTNEED);
}

}  // namespace ingle::gguf
