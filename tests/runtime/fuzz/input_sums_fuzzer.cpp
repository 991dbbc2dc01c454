// Any bytes may be given as a file of importance: it is read or refused with an Error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "runtime/input_sums.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle;
  try {
    InputSums sums = InputSums::read(GgufFile::parse(std::as_bytes(std::span(data, size)), "input"));
    sums.add(sums);
  } catch (const Error&) {
  }
  return 0;
}
