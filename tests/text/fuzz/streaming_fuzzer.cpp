// Bytes cut at arbitrary places: what comes out is valid UTF-8 at every moment, and the same however they are cut.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/tokenizer.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle;
  if (size == 0) return 0;
  uint64_t cuts = data[0] * 0x9E3779B97F4A7C15u | 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };

  StreamingDecoder whole;
  std::string want = whole.push(bytes);
  want += whole.finish();
  require(valid_utf8_prefix(want) == want.size());
  if (valid_utf8_prefix(bytes) == bytes.size()) require(want == bytes);

  StreamingDecoder parts;
  std::string got;
  for (size_t i = 0; i < bytes.size();) {
    cuts = cuts * 6364136223846793005u + 1442695040888963407u;
    const size_t n = cuts >> 61;
    const std::string out = parts.push(bytes.substr(i, n));
    require(valid_utf8_prefix(out) == out.size());
    got += out;
    i += n;
  }
  got += parts.finish();
  require(got == want);
  return 0;
}
