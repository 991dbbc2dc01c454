// Normalisation forms C and D (UAX #15): decompose, sort combining marks, compose. Hangul is arithmetic (Unicode 3.12).
#include <algorithm>
#include <cstring>
#include <vector>

#include "text/unicode.h"
#include "text/utf8.h"

namespace ingle {
namespace {

using unicode_tables::NfcProperties;

constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr int kLeadCount = 19, kVowelCount = 21, kTailCount = 28, kSyllableCount = 11172;

const NfcProperties& properties(char32_t c) noexcept { return nfc_properties(c); }

struct Mark {
  char32_t code;
  uint8_t combining_class;
};

void decompose(char32_t c, std::vector<Mark>& out) {
  if (c >= kSyllables && c < kSyllables + kSyllableCount) {
    const int s = static_cast<int>(c - kSyllables);
    out.push_back({kLeads + s / (kVowelCount * kTailCount), 0});
    out.push_back({kVowels + s % (kVowelCount * kTailCount) / kTailCount, 0});
    if (s % kTailCount != 0) out.push_back({kTails + s % kTailCount, 0});
    return;
  }
  const auto table = unicode_tables::kDecompositions;
  const auto it = std::lower_bound(table.begin(), table.end(), c, [](const auto& d, char32_t k) { return d.code < k; });
  if (it == table.end() || it->code != c) {
    out.push_back({c, properties(c).combining_class});
    return;
  }
  for (char32_t part : std::span(unicode_tables::kDecomposed + it->offset, it->length)) {
    out.push_back({part, properties(part).combining_class});
  }
}

// The canonical composite of a pair, 0 when there is none.
char32_t compose(char32_t first, char32_t second) noexcept {
  if (first >= kLeads && first < kLeads + kLeadCount && second >= kVowels && second < kVowels + kVowelCount) {
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  }
  if (first >= kSyllables && first < kSyllables + kSyllableCount && (first - kSyllables) % kTailCount == 0 &&
      second > kTails && second < kTails + kTailCount) {
    return first + (second - kTails);
  }
  const auto table = unicode_tables::kCompositions;
  const auto less = [](const auto& pair, const std::pair<char32_t, char32_t>& key) {
    return std::pair(pair.first, pair.second) < key;
  };
  const auto it = std::lower_bound(table.begin(), table.end(), std::pair(first, second), less);
  return it != table.end() && it->first == first && it->second == second ? it->composite : 0;
}

// Marks of one class keep their order; a starter (class 0) is a wall.
void sort_marks(std::vector<Mark>& text) {
  for (size_t i = 0; i < text.size();) {
    if (text[i].combining_class == 0) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && text[end].combining_class != 0) ++end;
    std::stable_sort(text.begin() + static_cast<ptrdiff_t>(i), text.begin() + static_cast<ptrdiff_t>(end),
                     [](const Mark& a, const Mark& b) { return a.combining_class < b.combining_class; });
    i = end;
  }
}

// A character joins the last starter unless something between them blocks it: a mark of the same or a higher class, or,
// for a starter, anything at all.
void compose_all(std::vector<Mark>& text) {
  size_t out = 0;
  ptrdiff_t starter = -1;
  int last_class = -1;  // of what stands between the starter and here; -1: nothing
  for (const Mark mark : text) {
    const bool blocked = starter < 0 || last_class >= static_cast<int>(mark.combining_class);
    if (!blocked) {
      if (const char32_t joined = compose(text[static_cast<size_t>(starter)].code, mark.code); joined != 0) {
        text[static_cast<size_t>(starter)].code = joined;
        continue;
      }
    }
    text[out] = mark;
    if (mark.combining_class == 0) {
      starter = static_cast<ptrdiff_t>(out);
      last_class = -1;
    } else {
      last_class = mark.combining_class;
    }
    ++out;
  }
  text.resize(out);
}

}  // namespace

const NfcProperties& nfc_properties(char32_t c) noexcept {
  using namespace unicode_tables;
  return kNfcProperties[kNfcPages[kNfcPage[c >> 8] * 256 + (c & 0xFF)]];
}

bool is_nfc_quick(std::string_view text) noexcept {
  uint8_t last_class = 0;
  for (size_t i = 0; i < text.size();) {
    uint64_t eight;
    if (text.size() - i >= 8 && (std::memcpy(&eight, text.data() + i, 8), (eight & 0x8080808080808080u) == 0)) {
      last_class = 0;
      i += 8;
      continue;
    }
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead >= 0xE5 && lead <= 0xE9) {  // U+5000-9FFF: ideographs all
      last_class = 0;
      i += 3;
      continue;
    }
    if (lead < 0xCC) {  // CC 80 is U+0300
      last_class = 0;
      i += lead < 0x80 ? 1 : 2;
      continue;
    }
    const Utf8Step step = decode_utf8(text.substr(i));
    const NfcProperties& p = properties(step.code);
    if (p.unsafe || (p.combining_class != 0 && p.combining_class < last_class)) return false;
    last_class = p.combining_class;
    i += step.length;
  }
  return true;
}

namespace {

std::vector<Mark> decompose_all(std::string_view text) {
  std::vector<Mark> marks;
  marks.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(i));
    if (step.code < 0xC0) {
      marks.push_back({step.code, 0});
    } else {
      decompose(step.code, marks);
    }
    i += step.length;
  }
  sort_marks(marks);
  return marks;
}

std::string to_string(const std::vector<Mark>& marks, size_t about_bytes) {
  std::string out;
  out.reserve(about_bytes);
  for (const Mark& mark : marks) append_utf8(out, mark.code);
  return out;
}

}  // namespace

// Latin-1 letters decompose too, but composing brings them back: only a following mark can matter, and it still needs
// them apart (U+00C1 U+0323 sorts the mark below first).
std::string to_nfc(std::string_view text) {
  std::vector<Mark> marks = decompose_all(text);
  compose_all(marks);
  return to_string(marks, text.size());
}

std::string to_nfd(std::string_view text) { return to_string(decompose_all(text), text.size() * 2); }

}  // namespace ingle
