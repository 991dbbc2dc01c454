// \w as Unicode recommends it (UTS #18): what a word is made of.
#pragma once

#include "text/unicode_classes.h"

namespace ingle {

// Alphabetic, marks, decimal digits, connecting punctuation and the two joiners. Alphabetic is letters, letter numbers,
// some marks, and the circled and squared letters among the symbols.
inline bool is_word_character(char32_t c) noexcept {
  constexpr CategoryMask kWord = kLetters | kMarks | bit(Category::kNd) | bit(Category::kNl) | bit(Category::kPc);
  return is_in(c, kWord) || c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
         (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

}  // namespace ingle
