// The general category of a code point, and sets of categories as bit masks: \p{L} is one test.
//
// The table has Unicode 16, as the expressions of Hugging Face's `tokenizers` 0.23 have: they agree on each of the
// 10,302 code points whose category changed since Unicode 14. What the category of new letters is decides where a text
// is cut.
#pragma once

#include <cstdint>

namespace ingle {

// kSpace: the control characters that are White_Space (U+0009-000D, U+0085); they are not in kCc here.
enum class Category : uint8_t {
  kCn,
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp,
  kCc,
  kCf,
  kCs,
  kCo,
  kSpace,
};

namespace unicode_tables {
// kCategoryPage[code >> 8] names one of the pages of 256 entries in kCategoryPages.
extern const uint8_t kCategoryPage[];
extern const uint8_t kCategoryPages[];
}  // namespace unicode_tables

// `c` is at most U+10FFFF.
inline Category category(char32_t c) noexcept {
  using namespace unicode_tables;
  return static_cast<Category>(kCategoryPages[kCategoryPage[c >> 8] * 256u + (c & 0xFF)]);
}

// A set of categories.
using CategoryMask = uint32_t;

constexpr CategoryMask bit(Category c) noexcept { return CategoryMask{1} << static_cast<unsigned>(c); }
constexpr CategoryMask bits(Category first, Category last) noexcept { return (bit(last) << 1) - bit(first); }

inline constexpr CategoryMask kLetters = bits(Category::kLu, Category::kLo);
inline constexpr CategoryMask kMarks = bits(Category::kMn, Category::kMe);
inline constexpr CategoryMask kNumbers = bits(Category::kNd, Category::kNo);
inline constexpr CategoryMask kPunctuation = bits(Category::kPc, Category::kPo);
inline constexpr CategoryMask kSymbols = bits(Category::kSm, Category::kSo);
inline constexpr CategoryMask kWhiteSpace = bits(Category::kZs, Category::kZp) | bit(Category::kSpace);

inline bool is_in(char32_t c, CategoryMask set) noexcept { return (bit(category(c)) & set) != 0; }

}  // namespace ingle
