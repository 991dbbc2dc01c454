// Text as Python's str sees it: code points, white space, letter case. Bytes that are not UTF-8 count as one code point
// each. The tables are those of Python 3.11 (Unicode 14), on which Jinja2 and transformers run where the renderings
// were made that the tests compare with; another version of Python differs in characters that are new in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingle::jinja {

// What Python's str methods answer for one code point; the order is that of scripts/generate_case_tables.py.
enum Property : uint32_t {
  kPrintable = 1 << 0,
  kAlpha = 1 << 1,
  kDecimal = 1 << 2,
  kDigit = 1 << 3,
  kNumeric = 1 << 4,
  kLower = 1 << 5,
  kUpper = 1 << 6,
  kTitle = 1 << 7,  // category Lt
  kIdentifierStart = 1 << 8,
  kIdentifierPart = 1 << 9,
  kCaseIgnorable = 1 << 10,
  kCased = 1 << 11,
};

enum class CaseForm { kLower, kUpper, kTitle, kFold };

struct PropertyRange {  // from `first` to the next range's first
  uint32_t first;
  uint32_t properties;
};
struct CaseMapping {
  uint32_t code_point;
  uint32_t forms[4];  // by CaseForm; the top bit set: an index into kLongForms
};
struct LongForm {
  uint32_t code_points[3];  // ends at a zero
};
struct CharacterName {
  std::string_view name;
  uint32_t code_point;
};
extern const CharacterName kCharacterNames[];  // sorted; part of Unicode's: scripts/generate_character_names.py
extern const size_t kCharacterNamesSize;
extern const PropertyRange kPropertyRanges[];
extern const size_t kPropertyRangesSize;
extern const CaseMapping kCaseMappings[];
extern const size_t kCaseMappingsSize;
extern const LongForm kLongForms[];
extern const size_t kLongFormsSize;

uint32_t properties_of(uint32_t code_point);
// \N{name}, in capitals or not; nothing when the table does not have it.
std::optional<uint32_t> named_character(std::string_view name);

// The code point that starts at text[at]; moves `at` behind it.
uint32_t next_code_point(std::string_view text, size_t& at);
size_t previous_code_point(std::string_view text, size_t at);  // where the code point that ends at `at` starts
void append_code_point(std::string& out, uint32_t code_point);
bool is_utf8(std::string_view text);
int64_t count_code_points(std::string_view text);
std::vector<uint32_t> code_points(std::string_view text);
// The byte where code point number `index` starts; text.size() when there are fewer.
size_t byte_of_code_point(std::string_view text, int64_t index);

bool is_space(uint32_t code_point);       // str.isspace
bool is_word(uint32_t code_point);        // \w of Python's re
bool is_line_break(uint32_t code_point);  // where str.splitlines cuts

void append_cased(std::string& out, uint32_t code_point, CaseForm form);
std::string to_lower(std::string_view text);  // str.lower, with the final sigma
std::string to_upper(std::string_view text);
std::string casefold(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);  // str.title: a letter after anything without case is a capital
std::string swapcase(std::string_view text);

}  // namespace ingle::jinja
