// Any bytes as a README: names and texts that are all within the bytes.
#include <cstdint>
#include <cstdlib>

#include "convert/front_matter.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t bytes = 0;
  for (const auto& [name, values] : ingle::read_front_matter(text)) {
    bytes += name.size();
    for (const std::string& value : values) bytes += value.size();
  }
  if (bytes > size) std::abort();
  return 0;
}
