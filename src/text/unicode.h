// Unicode facts the tokenizers need beyond categories (unicode_classes.h): white space and the normal forms.
//
// The tables have Unicode 14. Normal forms of characters that exist never change (Unicode's stability policy), so a
// version decides about newer characters alone; and those of Hugging Face's `tokenizers` 0.23 are older still: of all
// single characters it makes none in NFC, 1 in NFD, 72 in NFKC and 73 in NFKD to something else than these tables do
// (with Unicode 16: 0, 21, 170 and 191).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ingle {

// The White_Space property.
constexpr bool is_white_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// True when `text` is surely in NFC already: the quick check of UAX #15, one table look-up a character beyond U+02FF.
// False means "perhaps not". `text` must be valid UTF-8, as for to_nfc.
bool is_nfc_quick(std::string_view text) noexcept;

// Canonical decomposition, ordering and composition. O(n log n) at worst, in one run of combining marks.
std::string to_nfc(std::string_view text);
// Canonical decomposition and ordering only.
std::string to_nfd(std::string_view text);

namespace unicode_tables {

struct NfcProperties {
  uint8_t combining_class;
  bool unsafe;  // NFC changes it, or it may join the character before it
};
struct Decomposition {
  char32_t code;
  uint16_t offset, length;  // in kDecomposed
};
struct Composition {
  char32_t first, second, composite;  // sorted by (first, second)
};

// Two stages: kNfcPage[code >> 8] names one of the pages of 256 entries in kNfcPages; an entry indexes kNfcProperties.
extern const uint8_t kNfcPage[];
extern const uint8_t kNfcPages[];
extern const NfcProperties kNfcProperties[];
extern const char32_t kDecomposed[];
extern const std::span<const Decomposition> kDecompositions;  // sorted by code, already fully decomposed
extern const std::span<const Composition> kCompositions;
extern const std::span<const Decomposition> kCompatibleDecompositions;  // of the K forms, where they differ

}  // namespace unicode_tables

const unicode_tables::NfcProperties& nfc_properties(char32_t c) noexcept;

}  // namespace ingle
