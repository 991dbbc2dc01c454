// Any bytes as a safetensors file: an error or tensors whose numbers can all be read.
#include <cstdint>
#include <vector>

#include "convert/safetensors.h"
#include "ingle/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const ingle::SafeTensorsFile file = ingle::SafeTensorsFile::parse(std::as_bytes(std::span(data, size)), "fuzz");
    for (const ingle::SafeTensor& tensor : file.tensors()) {
      if (!tensor.readable()) continue;
      std::vector<float> numbers(static_cast<size_t>(tensor.shape.elements()));
      tensor.read(0, tensor.shape.elements(), numbers.data());
    }
  } catch (const ingle::Error&) {
  }
  return 0;
}
