// The memory of one step: bump allocation, given back all at once or down to a mark. The first steps may grow it; after
// that a step takes nothing from the system.
#pragma once

#include <cstddef>
#include <vector>

#include "base/aligned_buffer.h"

namespace ingle::cpu {

class Arena {
 public:
  // 64-byte aligned, not cleared; valid until reset() or a rewind() past it.
  std::byte* allocate(size_t bytes);
  template <class T>
  T* allocate_array(int64_t count) {
    return reinterpret_cast<T*>(allocate(static_cast<size_t>(count) * sizeof(T)));
  }

  struct Mark {
    size_t chunk = 0, used = 0, live = 0;
  };
  Mark mark() const noexcept { return {chunk_, used_, live_}; }
  // Forgets what was allocated since the mark.
  void rewind(const Mark& mark) noexcept;
  // Forgets everything. If it took several chunks, they become one of the size that was needed at once.
  void reset();
  size_t capacity() const noexcept;

 private:
  std::vector<AlignedBuffer> chunks_;
  size_t chunk_ = 0;  // index of the chunk in use
  size_t used_ = 0;   // of that chunk
  size_t live_ = 0;   // bytes handed out and not forgotten
  size_t peak_ = 0;   // largest live_ so far
};

}  // namespace ingle::cpu
