#include "text/template_unicode.h"

#include <algorithm>

namespace ingle::jinja {

uint32_t properties_of(uint32_t code_point) {
  const PropertyRange* end = kPropertyRanges + kPropertyRangesSize;
  const PropertyRange* range = std::upper_bound(kPropertyRanges, end, code_point,
                                                [](uint32_t c, const PropertyRange& r) { return c < r.first; });
  return (range - 1)->properties;
}

std::optional<uint32_t> named_character(std::string_view name) {
  std::string wanted(name);
  for (char& c : wanted)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const CharacterName* end = kCharacterNames + kCharacterNamesSize;
  const CharacterName* found = std::lower_bound(kCharacterNames, end, std::string_view(wanted),
                                                [](const CharacterName& n, std::string_view w) { return n.name < w; });
  return found != end && found->name == wanted ? std::optional(found->code_point) : std::nullopt;
}

uint32_t next_code_point(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(at);
  const size_t length = lead < 0x80 ? 1 : (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 1;
  if (length > 1 && at + length <= text.size()) {
    uint32_t code_point = lead & (0x7f >> length);
    bool whole = true;
    for (size_t i = 1; i < length; ++i) {
      whole = whole && (byte(at + i) & 0xc0) == 0x80;
      code_point = code_point << 6 | (byte(at + i) & 0x3f);
    }
    if (whole) {
      at += length;
      return code_point;
    }
  }
  ++at;
  return lead;
}

size_t previous_code_point(std::string_view text, size_t at) {
  const size_t low = at > 4 ? at - 4 : 0;
  for (size_t start = at - 1; start > low || start == 0; --start) {
    if ((static_cast<unsigned char>(text[start]) & 0xc0) != 0x80) {
      size_t end = start;
      next_code_point(text, end);
      if (end == at) return start;
      break;
    }
    if (start == 0) break;
  }
  return at - 1;
}

void append_code_point(std::string& out, uint32_t c) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const uint32_t c = next_code_point(text, at);
    const size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    // A stray byte reads as itself (one byte long, not below 0x80); an overlong form is longer than it need be.
    if (at - start != length || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
  }
  return true;
}

int64_t count_code_points(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    if (static_cast<unsigned char>(text[at]) < 0x80)
      ++at;
    else
      next_code_point(text, at);
  }
  return count;
}

std::vector<uint32_t> code_points(std::string_view text) {
  std::vector<uint32_t> points;
  for (size_t at = 0; at < text.size();) points.push_back(next_code_point(text, at));
  return points;
}

size_t byte_of_code_point(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) next_code_point(text, at);
  return at;
}

bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_word(uint32_t c) { return c == '_' || (properties_of(c) & (kAlpha | kDecimal | kDigit | kNumeric)) != 0; }

bool is_line_break(uint32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

void append_cased(std::string& out, uint32_t code_point, CaseForm form) {
  const CaseMapping* end = kCaseMappings + kCaseMappingsSize;
  const CaseMapping* found = std::lower_bound(kCaseMappings, end, code_point,
                                              [](const CaseMapping& m, uint32_t c) { return m.code_point < c; });
  if (found == end || found->code_point != code_point) return append_code_point(out, code_point);
  const uint32_t to = found->forms[static_cast<int>(form)];
  if ((to & 0x80000000u) == 0) return append_code_point(out, to);
  for (uint32_t c : kLongForms[to & 0x7fffffffu].code_points)
    if (c != 0) append_code_point(out, c);
}

namespace {

// A capital sigma is final if a cased letter stands before it and none after, skipping what has no say in case.
bool is_final_sigma(std::string_view text, size_t start, size_t end) {
  bool before = false;
  for (size_t at = start; at > 0;) {
    at = previous_code_point(text, at);
    size_t next = at;
    const uint32_t properties = properties_of(next_code_point(text, next));
    if ((properties & kCaseIgnorable) != 0) continue;
    before = (properties & kCased) != 0;
    break;
  }
  if (!before) return false;
  for (size_t at = end; at < text.size();) {
    const uint32_t properties = properties_of(next_code_point(text, at));
    if ((properties & kCaseIgnorable) == 0) return (properties & kCased) == 0;
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, size_t start, size_t end, uint32_t code_point) {
  if (code_point == 0x3a3)
    append_code_point(out, is_final_sigma(text, start, end) ? 0x3c2 : 0x3c3);
  else
    append_cased(out, code_point, CaseForm::kLower);
}

char ascii_cased(char c, CaseForm form) {
  const bool up = form == CaseForm::kUpper || form == CaseForm::kTitle;
  if (up && c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  if (!up && c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c;
}

std::string map_all(std::string_view text, CaseForm form) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const uint32_t c = next_code_point(text, at);
    if (c < 0x80)
      out += ascii_cased(static_cast<char>(c), form);
    else if (form == CaseForm::kLower)
      append_lower(out, text, start, at, c);
    else
      append_cased(out, c, form);
  }
  return out;
}

}  // namespace

std::string to_lower(std::string_view text) { return map_all(text, CaseForm::kLower); }
std::string to_upper(std::string_view text) { return map_all(text, CaseForm::kUpper); }
std::string casefold(std::string_view text) { return map_all(text, CaseForm::kFold); }

std::string capitalize(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const uint32_t c = next_code_point(text, at);
    if (start == 0)
      append_cased(out, c, CaseForm::kTitle);
    else
      append_lower(out, text, start, at, c);
  }
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  bool after_cased = false;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const uint32_t c = next_code_point(text, at);
    if (after_cased)
      append_lower(out, text, start, at, c);
    else
      append_cased(out, c, CaseForm::kTitle);
    after_cased = (properties_of(c) & (kCased | kLower | kUpper | kTitle)) != 0;
  }
  return out;
}

std::string swapcase(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const uint32_t c = next_code_point(text, at);
    const uint32_t properties = properties_of(c);
    if ((properties & kUpper) != 0)
      append_lower(out, text, start, at, c);
    else if ((properties & kLower) != 0)
      append_cased(out, c, CaseForm::kUpper);
    else
      append_code_point(out, c);
  }
  return out;
}

}  // namespace ingle::jinja
