// Memory for weights and activations: page-aligned, on huge pages where the system gives them, zero until written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingle {

// Owns the bytes; movable. Pages are taken from the system when they are first touched.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws Error{kOutOfMemory} naming the size.
  explicit AlignedBuffer(size_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace ingle
