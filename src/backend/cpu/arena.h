// The memory of one step: bump allocation, forgotten all at once. The first steps may grow it; after that a step takes nothing from the
// system.
#pragma once

#include <cstddef>
#include <vector>

#include "base/aligned_buffer.h"

namespace ingle::cpu {

class Arena {
 public:
  // 64-byte aligned, not cleared; valid until reset().
  std::byte* allocate(size_t bytes);
  template <class T>
  T* allocate_array(int64_t count) {
    return reinterpret_cast<T*>(allocate(static_cast<size_t>(count) * sizeof(T)));
  }
  // Forgets everything. If the last step needed several chunks, they become one.
  void reset();
  size_t capacity() const noexcept;

 private:
  std::vector<AlignedBuffer> chunks_;
  size_t used_ = 0;       // of the last chunk
  size_t step_bytes_ = 0; // of this step, over all chunks
};

}  // namespace ingle::cpu
