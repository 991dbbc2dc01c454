// UTF-8 one character at a time, strict (no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingle {

// One step of decoding. `length` is what the step covers: the character, or the maximal bad prefix, at least 1.
struct Utf8Step {
  enum class Kind : uint8_t { kValid, kInvalid, kIncomplete };  // incomplete: good so far, but the text ends
  Kind kind;
  uint8_t length;
  char32_t code;  // of a valid character

  bool valid() const noexcept { return kind == Kind::kValid; }
};

// `text` must not be empty.
inline Utf8Step decode_utf8(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {Utf8Step::Kind::kValid, 1, lead};
  const uint8_t need = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (need == 0) return {Utf8Step::Kind::kInvalid, 1, 0};
  // The second byte's range excludes overlong forms (E0, F0), surrogates (ED) and what is above U+10FFFF (F4).
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code = lead & (0xFFu >> (need + 1));
  for (uint8_t i = 1; i < need; ++i, low = 0x80, high = 0xBF) {
    if (i >= text.size()) return {Utf8Step::Kind::kIncomplete, i, 0};
    if (byte(i) < low || byte(i) > high) return {Utf8Step::Kind::kInvalid, i, 0};
    code = code << 6 | (byte(i) & 0x3F);
  }
  return {Utf8Step::Kind::kValid, need, code};
}

// How many bytes at the front of `text` are valid UTF-8.
size_t valid_utf8_prefix(std::string_view text) noexcept;

inline void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// U+FFFD for each maximal bad prefix, as Unicode recommends.
std::string with_replacement_characters(std::string_view text);

}  // namespace ingle
