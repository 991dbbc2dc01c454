#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/regular_file.h"

namespace ingle {

constinit SignalSet<const MappedFile::Place> MappedFile::places;  // a signal handler can reach nothing but a global

MappedFile MappedFile::open(const std::filesystem::path& path) {
  const RegularFile file(path);
  if (file.size() == 0) throw_error(ErrorCode::kInvalidFile, "{}: is empty", file.name());
  void* data = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED && errno == ENOMEM)
    throw_error(ErrorCode::kOutOfMemory, "{}: no address space for its {} bytes; ulimit -v shows whether it is limited",
                file.name(), file.size());
  if (data == MAP_FAILED) file.fail("map", errno);
  MappedFile mapped;
  mapped.data_ = static_cast<const std::byte*>(data);
  mapped.size_ = file.size();
  mapped.place_ = places.add(std::make_unique<const Place>(Place{mapped.data_, mapped.size_, file.name()}));
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      place_(std::move(other.place_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);  // ours is unmapped with `other`
  std::swap(size_, other.size_);
  std::swap(place_, other.place_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

const char* MappedFile::name_at(const void* address) noexcept {
  const char* name = nullptr;
  const auto* byte = static_cast<const std::byte*>(address);
  places.take_all([&](const Place& place) {
    if (byte >= place.data && byte < place.data + place.size) name = place.name.c_str();
  });
  return name;
}

void MappedFile::drop(size_t offset, size_t bytes) const noexcept {
  if (offset >= size_) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t end = offset + std::min(bytes, size_ - offset);
  const size_t first_page = (offset + page - 1) / page * page;
  // The file's last page holds nothing else, so it may go although the file ends inside it.
  const size_t last_page = end == size_ ? (end + page - 1) / page * page : end / page * page;
  if (first_page >= last_page) return;
  ::madvise(const_cast<std::byte*>(data_) + first_page, last_page - first_page, MADV_DONTNEED);
}

void MappedFile::read_alone(size_t offset, size_t bytes) const noexcept {
  if (offset >= size_) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first_page = offset / page * page;
  ::madvise(const_cast<std::byte*>(data_) + first_page, std::min(bytes, size_ - offset) + offset - first_page,
            MADV_RANDOM);
}

}  // namespace ingle
