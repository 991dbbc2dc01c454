// The byte-level alphabet of GPT-2: every byte has a printable character, so that any bytes can be written as text.
// Bytes 21-7E, A1-AC and AE-FF are the character of the same number; the other 68, in order, are U+0100, U+0101, ...
#pragma once

#include <array>
#include <cstdint>

namespace ingle {

inline constexpr char32_t kByteAlphabetEnd = 0x100 + 68;

constexpr bool is_own_character(int byte) noexcept {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

inline constexpr std::array<char32_t, 256> kByteToCharacter = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (int b = 0; b < 256; ++b) table[b] = is_own_character(b) ? static_cast<char32_t>(b) : next++;
  return table;
}();

// -1: the character stands for no byte.
inline constexpr std::array<int16_t, kByteAlphabetEnd> kCharacterToByte = [] {
  std::array<int16_t, kByteAlphabetEnd> table{};
  for (auto& entry : table) entry = -1;
  for (int b = 0; b < 256; ++b) table[kByteToCharacter[b]] = static_cast<int16_t>(b);
  return table;
}();

}  // namespace ingle
