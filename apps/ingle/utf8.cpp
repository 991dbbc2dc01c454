#include "apps/ingle/utf8.h"

#include "apps/ingle/fail.h"

namespace ingle::app {

Utf8Character first_character(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t code_point = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3fu);
  }
  const char32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (code_point < least || code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) return {};
  return {code_point, length, true};
}

std::optional<size_t> find_invalid_utf8(std::string_view text) noexcept {
  for (size_t at = 0; at < text.size();) {
    const Utf8Character c = first_character(text.substr(at));
    if (!c.valid) return at;
    at += c.length;
  }
  return std::nullopt;
}

void require_utf8(std::string_view text, std::string_view name) {
  if (const std::optional<size_t> bad = find_invalid_utf8(text))
    fail(ErrorCode::kInvalidArgument, "{}: not UTF-8: byte {:#04x} at offset {}; convert it first, e.g. with iconv",
         name, static_cast<unsigned char>(text[*bad]), *bad);
}

std::string to_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Character c = first_character(text.substr(at));
    if (c.valid) {
      valid += text.substr(at, c.length);
    } else {
      valid += "\xef\xbf\xbd";
    }
    at += c.length;
  }
  return valid;
}

}  // namespace ingle::app
