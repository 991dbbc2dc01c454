// Tensor data that no file holds: address space for all tensors, each filled when somebody asks for it and given back
// when it is not needed any more. At no time does it take more memory than what is being used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"

namespace ingle::gguf {

class GeneratedData {
 public:
  using Fill = std::function<void(size_t index, std::span<std::byte> bytes)>;

  struct Part {
    uint64_t offset = 0, bytes = 0;
    bool lasting = false;  // drop() leaves it alone
    bool filled = false;
    uint64_t dropped = 0;  // bytes of views that were dropped since it was filled
  };

  // `parts` lie one after the other, ascending, within `bytes`. An empty `fill` means zeros. Throws
  // Error{kOutOfMemory} when the address space cannot be had.
  GeneratedData(uint64_t bytes, std::vector<Part> parts, Fill fill);

  const std::byte* at(uint64_t offset) const noexcept { return memory_.data() + offset; }

  // Thread-safe, one tensor at a time.
  void fill(size_t index) noexcept;
  // The pages of a tensor go when views of all its bytes were dropped: a loader that takes it apart expert by expert
  // still finds the rest.
  void drop(const std::byte* data, uint64_t bytes) noexcept;

 private:
  std::mutex mutex_;
  AlignedBuffer memory_;  // its pages cost nothing until they are written
  std::vector<Part> parts_;
  Fill fill_;
};

}  // namespace ingle::gguf
