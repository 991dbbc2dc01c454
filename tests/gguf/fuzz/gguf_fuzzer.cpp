// Any bytes are either a valid container, of which everything can be read, or one Error.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "gguf/gguf.h"
#include "ingle/error.h"
#include "walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle;
  try {
    test::walk(GgufFile::parse(std::as_bytes(std::span(data, size)), "input"));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidFile || error.code() == ErrorCode::kUnsupported) return 0;
    std::fprintf(stderr, "unexpected error: %s\n", error.what());
    std::abort();
  }
  return 0;
}
