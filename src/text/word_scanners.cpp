// A character is its length and its category as a bit; an expression's classes are masks. Every function below takes a
// place and says where the piece that begins there ends.
#include "text/word_scanners.h"

#include <array>

#include "text/unicode_classes.h"

namespace ingle {
namespace {

constexpr CategoryMask kNewline = CategoryMask{1} << 31;  // \r and \n, beside their category
constexpr CategoryMask kSmall = bit(Category::kLl) | bit(Category::kLm) | bit(Category::kLo) | kMarks;
constexpr CategoryMask kCapital =
    bit(Category::kLu) | bit(Category::kLt) | bit(Category::kLm) | bit(Category::kLo) | kMarks;

constexpr Category ascii_category(unsigned char c) noexcept {
  using enum Category;
  if (c >= 'a' && c <= 'z') return kLl;
  if (c >= 'A' && c <= 'Z') return kLu;
  if (c >= '0' && c <= '9') return kNd;
  if (c == ' ') return kZs;
  if (c >= '\t' && c <= '\r') return kSpace;
  if (c < 0x20 || c == 0x7F) return kCc;
  constexpr std::string_view kMath = "+<=>|~", kModifiers = "^`";
  if (c == '$') return kSc;
  if (c == '_') return kPc;
  if (c == '-') return kPd;
  if (c == '(' || c == '[' || c == '{') return kPs;
  if (c == ')' || c == ']' || c == '}') return kPe;
  if (kMath.find(static_cast<char>(c)) != kMath.npos) return kSm;
  if (kModifiers.find(static_cast<char>(c)) != kModifiers.npos) return kSk;
  return kPo;
}

constexpr std::array<CategoryMask, 128> kAscii = [] {
  std::array<CategoryMask, 128> table{};
  for (unsigned char c = 0; c < 128; ++c) {
    table[c] = bit(ascii_category(c)) | (c == '\r' || c == '\n' ? kNewline : 0);
  }
  return table;
}();

struct Character {
  CategoryMask set;
  size_t length;
};

// The text is valid, so a lead byte says all.
class Text {
 public:
  Text(std::string_view text, size_t end) : bytes_(reinterpret_cast<const unsigned char*>(text.data())), end_(end) {}

  size_t end() const noexcept { return end_; }
  unsigned char byte(size_t i) const noexcept { return bytes_[i]; }

  Character at(size_t i) const noexcept {
    const unsigned char lead = bytes_[i];
    if (lead < 0x80) return {kAscii[lead], 1};
    if (lead >= 0xE5 && lead <= 0xE9) return {bit(Category::kLo), 3};  // U+5000-9FFF: ideographs all
    const auto next = [&](size_t k) { return static_cast<char32_t>(bytes_[i + k] & 0x3F); };
    char32_t code;
    size_t length;
    if (lead < 0xE0) {
      code = (lead & 0x1Fu) << 6 | next(1);
      length = 2;
    } else if (lead < 0xF0) {
      code = (lead & 0x0Fu) << 12 | next(1) << 6 | next(2);
      length = 3;
    } else {
      code = (lead & 0x07u) << 18 | next(1) << 12 | next(2) << 6 | next(3);
      length = 4;
    }
    return {bit(category(code)), length};
  }

  // The end of the run of characters in `set` that begins at `i`.
  size_t run(size_t i, CategoryMask set) const noexcept {
    while (i < end_) {
      const Character c = at(i);
      if ((c.set & set) == 0) break;
      i += c.length;
    }
    return i;
  }
  bool is(size_t i, CategoryMask set) const noexcept { return i < end_ && (at(i).set & set) != 0; }

 private:
  const unsigned char* bytes_;
  size_t end_;
};

// Length of 's 't 're 've 'm 'll or 'd at `i`, 0 when there is none. U+017F folds to s, and nothing else that is not
// ASCII folds to one of these letters.
template <bool kAnyCase>
size_t contraction(const Text& text, size_t i) noexcept {
  if (text.end() - i < 2 || text.byte(i) != '\'') return 0;
  const auto letter = [&](size_t k) { return kAnyCase ? text.byte(k) | 0x20u : text.byte(k); };
  const unsigned first = letter(i + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (text.end() - i < 3) return 0;
  const unsigned second = letter(i + 2);
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  return kAnyCase && text.byte(i + 1) == 0xC5 && text.byte(i + 2) == 0xBF ? 3 : 0;
}

// \s+(?!\S)|\s+, and with `newlines` \s*[\r\n]+ before it. `i` is at white space.
size_t white_space(const Text& text, size_t i, bool newlines) noexcept {
  size_t last = i, after_newline = 0, end = i;  // last: where the last character of the run begins
  while (end < text.end()) {
    const Character c = text.at(end);
    if ((c.set & kWhiteSpace) == 0) break;
    last = end;
    end += c.length;
    if ((c.set & kNewline) != 0) after_newline = end;
  }
  if (newlines && after_newline > 0) return after_newline;
  return end == text.end() || last == i ? end : last;
}

// c| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S) and what is left over: GPT-2.
size_t gpt2_piece(const Text& text, size_t i) noexcept {
  if (const size_t length = contraction<false>(text, i); length > 0) return i + length;
  size_t start = i;
  if (text.byte(i) == ' ' && i + 1 < text.end()) start = i + 1;
  const CategoryMask set = text.at(start).set;
  if ((set & kLetters) != 0) return text.run(start, kLetters);
  if ((set & kNumbers) != 0) return text.run(start, kNumbers);
  if ((set & kWhiteSpace) == 0) return text.run(start, ~(kLetters | kNumbers | kWhiteSpace | kNewline));
  return white_space(text, i, false);
}

// What the newer expressions have in common: numbers, symbols with line breaks after them, white space.
//   digits: how many \p{N} a piece may have, 0 for any number
//   letters: what a symbol is not, beside numbers and white space
//   tail: the bytes that may follow symbols
template <size_t kDigits, CategoryMask kLetterSet, bool kSlash>
size_t other_piece(const Text& text, size_t i, Character c) noexcept {
  constexpr CategoryMask kOther = ~(kLetterSet | kNumbers | kWhiteSpace | kNewline);
  if ((c.set & kNumbers) != 0) {
    if (kDigits == 0) return text.run(i, kNumbers);
    size_t end = i + c.length;
    for (size_t n = 1; n < kDigits && text.is(end, kNumbers); ++n) end += text.at(end).length;
    return end;
  }
  const bool spaced = text.byte(i) == ' ' && text.is(i + 1, kOther);
  if (!spaced && (c.set & kOther) == 0) return white_space(text, i, true);
  size_t end = text.run(i + (spaced ? 1 : 0), kOther);
  while (end < text.end() &&
         ((text.byte(end) == '\r' || text.byte(end) == '\n') || (kSlash && text.byte(end) == '/'))) {
    ++end;
  }
  return end;
}

// C|[^\r\n\p{L}\p{N}]?L+|N{1,n}| ?[^\s L N]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ with L = \p{L}, or [\p{L}\p{M}].
template <size_t kDigits, CategoryMask kLetterSet>
size_t llama3_piece(const Text& text, size_t i) noexcept {
  if (const size_t length = contraction<true>(text, i); length > 0) return i + length;
  const Character c = text.at(i);
  if ((c.set & kLetterSet) != 0) return text.run(i + c.length, kLetterSet);
  if ((c.set & (kNumbers | kNewline)) == 0 && text.is(i + c.length, kLetterSet)) {
    return text.run(i + c.length, kLetterSet);
  }
  return other_piece<kDigits, kLetterSet, false>(text, i, c);
}

// U*W+ and U+W* from `i`, with U the capitals and W the small letters; letters without case and marks are both. 0: no
// match.
struct CasedEnds {
  size_t small, capital;
};
CasedEnds cased_ends(const Text& text, size_t i) noexcept {
  size_t end = i, after_both = 0;  // after_both: behind the last character of the run of U that is also in W
  CategoryMask next = 0;
  while (end < text.end()) {
    const Character c = text.at(end);
    next = c.set;
    if ((c.set & kCapital) == 0) break;
    end += c.length;
    if ((c.set & kSmall) != 0) after_both = end;
    next = 0;
  }
  if ((next & kSmall) != 0) return {text.run(end, kSmall), 0};
  return {after_both, end > i ? end : 0};  // W+ takes the one character that U* gives back
}

// Words cut where a small letter meets a capital; in `lead` form one character that is no letter stands before them.
template <size_t kDigits, bool kContraction>
size_t cased_piece(const Text& text, size_t i) noexcept {
  const Character c = text.at(i);
  size_t end = 0;
  if ((c.set & kLetters) != 0) {
    const CasedEnds ends = cased_ends(text, i);
    end = ends.small > 0 ? ends.small : ends.capital;
  } else if ((c.set & (kNumbers | kNewline)) == 0) {
    const CasedEnds led = cased_ends(text, i + c.length);
    if (led.small > 0) {
      end = led.small;
    } else if ((c.set & kMarks) != 0) {
      end = cased_ends(text, i).small;
    } else {
      end = led.capital;
    }
  }
  if (end == 0) return other_piece<kDigits, kLetters, true>(text, i, c);
  return kContraction && end < text.end() ? end + contraction<true>(text, end) : end;
}

// [^\n]+|[\n]+
size_t line_piece(const Text& text, size_t i) noexcept {
  const bool newline = text.byte(i) == '\n';
  while (i < text.end() && (text.byte(i) == '\n') == newline) ++i;
  return i;
}

// \p{N}{1,n}, and what is between numbers.
template <size_t kDigits>
size_t number_piece(const Text& text, size_t i) noexcept {
  if (!text.is(i, kNumbers)) return text.run(i, ~kNumbers);
  for (size_t n = 0; n < kDigits && text.is(i, kNumbers); ++n) i += text.at(i).length;
  return i;
}

template <size_t (*kPiece)(const Text&, size_t)>
void scan(std::string_view all, size_t begin, size_t end, std::vector<size_t>& ends) {
  const Text text(all, end);
  while (begin < end) {
    begin = kPiece(text, begin);
    ends.push_back(begin);
  }
}

#define INGLE_CONTRACTION R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define INGLE_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define INGLE_WORDS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)"
#define INGLE_SIGNS R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
#define INGLE_CASED(tail)                                                                \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" tail \
  R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" tail "|"

struct Row {
  std::string_view expression;
  WordScanner scanner;
};

constexpr Row kRows[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))", scan<gpt2_piece>},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", scan<gpt2_piece>},
    {INGLE_CONTRACTION INGLE_WORDS R"(\p{N})" INGLE_SIGNS INGLE_SPACES, scan<llama3_piece<1, kLetters>>},
    {INGLE_CONTRACTION INGLE_WORDS R"(\p{N}{1,3})" INGLE_SIGNS INGLE_SPACES, scan<llama3_piece<3, kLetters>>},
    {INGLE_CONTRACTION INGLE_WORDS R"(\p{N}+)" INGLE_SIGNS INGLE_SPACES, scan<llama3_piece<0, kLetters>>},
    {INGLE_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" INGLE_SPACES,
     scan<llama3_piece<1, kLetters | kMarks>>},
    {INGLE_CASED(INGLE_CONTRACTION "?") R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" INGLE_SPACES,
     scan<cased_piece<3, true>>},
    {INGLE_CASED("") R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" INGLE_SPACES, scan<cased_piece<1, false>>},
    {R"([^\n]+|[\n]+)", scan<line_piece>},
    {R"(\p{N})", scan<number_piece<1>>},
    {R"(\p{N}{1,3})", scan<number_piece<3>>},
};

#undef INGLE_CONTRACTION
#undef INGLE_SPACES
#undef INGLE_WORDS
#undef INGLE_SIGNS
#undef INGLE_CASED

}  // namespace

WordScanner find_word_scanner(std::string_view expression) noexcept {
  for (const Row& row : kRows) {
    if (row.expression == expression) return row.scanner;
  }
  return nullptr;
}

std::vector<std::string_view> scanned_expressions() {
  std::vector<std::string_view> all;
  for (const Row& row : kRows) all.push_back(row.expression);
  return all;
}

}  // namespace ingle
