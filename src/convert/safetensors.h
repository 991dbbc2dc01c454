// The container that models are published in: a header of JSON, then the tensors' bytes. (safetensors' README: 8 bytes
// of header size, little-endian; the header; a buffer that the tensors cover without gaps.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace ingle {

struct SafeTensor {
  std::string name;
  std::string type;  // as the file says: "BF16"
  Shape shape;       // outermost first; one number is a shape of one element
  std::span<const std::byte> bytes;

  bool readable() const noexcept;  // F32, F16, BF16, F64
  // Elements [first, first + count) of a readable tensor as numbers; F64 rounded.
  void read(int64_t first, int64_t count, float* out) const noexcept;
};

// One file, mapped. Tensors are valid while it lives. Const methods are thread-safe.
class SafeTensorsFile {
 public:
  // Checks the header and the extent of every tensor before returning. Throws Error: kNotFound, kIo, kInvalidFile
  // (names the tensor and the numbers), kUnsupported (a type whose numbers nothing here reads, more than four
  // dimensions).
  static SafeTensorsFile open(const std::filesystem::path& path);
  // The same of bytes in memory; `name` is for messages. They must outlive the result.
  static SafeTensorsFile parse(std::span<const std::byte> bytes, std::string_view name);

  std::span<const SafeTensor> tensors() const noexcept { return tensors_; }  // by offset
  // Lets the system forget the pages of a tensor that has been read.
  void drop(const SafeTensor& tensor) const noexcept;

 private:
  MappedFile file_;
  std::vector<SafeTensor> tensors_;
};

}  // namespace ingle
