#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <utility>

#include "base/error.h"

namespace ingle {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const bool huge = bytes >= kHugePage;  // smaller buffers would only waste a huge page
  mapped_ = bytes + (huge ? kHugePage : 0);
  if (mapped_ < bytes) throw_error(ErrorCode::kOutOfMemory, "cannot allocate {} bytes", bytes);
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw_error(ErrorCode::kOutOfMemory, "cannot allocate {} bytes", bytes);
  }
  auto address = reinterpret_cast<uintptr_t>(mapping_);
  if (huge) {
    address = (address + kHugePage - 1) & ~(kHugePage - 1);
    madvise(reinterpret_cast<void*>(address), bytes, MADV_HUGEPAGE);  // advice: failing is fine
  }
  data_ = reinterpret_cast<std::byte*>(address);
}

AlignedBuffer::~AlignedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace ingle
