// Finding where valid UTF-8 ends, eight ASCII bytes at a time.
#include "text/utf8.h"

#include <cstring>

namespace ingle {

size_t valid_utf8_prefix(std::string_view text) noexcept {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t eight;
    if (text.size() - i >= 8 && (std::memcpy(&eight, text.data() + i, 8), (eight & 0x8080808080808080u) == 0)) {
      i += 8;
      continue;
    }
    const Utf8Step step = decode_utf8(text.substr(i));
    if (!step.valid()) return i;
    i += step.length;
  }
  return i;
}

std::string with_replacement_characters(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    const size_t good = valid_utf8_prefix(text);
    out += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) break;
    out += kReplacementCharacter;
    text.remove_prefix(decode_utf8(text).length);
  }
  return out;
}

}  // namespace ingle
