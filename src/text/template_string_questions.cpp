#include "text/template_string_questions.h"

#include "text/template_unicode.h"

namespace ingle::jinja {
namespace {

bool all_have(std::string_view text, uint32_t properties) {
  for (size_t at = 0; at < text.size();)
    if ((properties_of(next_code_point(text, at)) & properties) == 0) return false;
  return true;
}

bool only_case(std::string_view text, uint32_t wanted, uint32_t unwanted) {
  bool seen = false;
  for (size_t at = 0; at < text.size();) {
    const uint32_t properties = properties_of(next_code_point(text, at));
    if ((properties & unwanted) != 0) return false;
    seen = seen || (properties & wanted) != 0;
  }
  return seen;
}

bool is_title_case(std::string_view text) {
  bool seen = false, after_cased = false;
  for (size_t at = 0; at < text.size();) {
    const uint32_t properties = properties_of(next_code_point(text, at));
    const bool capital = (properties & (kUpper | kTitle)) != 0, small = (properties & kLower) != 0;
    if (capital ? after_cased : small && !after_cased) return false;
    after_cased = capital || small;
    seen = seen || after_cased;
  }
  return seen;
}

}  // namespace

bool answer(Question question, const String& s) {
  const std::string_view text = s.text;
  switch (question) {
    case Question::kDigit:
      return !text.empty() && all_have(text, kDigit);
    case Question::kAlpha:
      return !text.empty() && all_have(text, kAlpha);
    case Question::kAlnum:
      return !text.empty() && all_have(text, kAlpha | kDecimal | kDigit | kNumeric);
    case Question::kNumeric:
      return !text.empty() && all_have(text, kNumeric);
    case Question::kDecimal:
      return !text.empty() && all_have(text, kDecimal);
    case Question::kPrintable:
      return all_have(text, kPrintable);
    case Question::kAscii:
      return s.ascii();
    case Question::kUpper:
      return only_case(text, kUpper, kLower | kTitle);
    case Question::kLower:
      return only_case(text, kLower, kUpper | kTitle);
    case Question::kTitle:
      return is_title_case(text);
    case Question::kSpace: {
      for (size_t at = 0; at < text.size();)
        if (!is_space(next_code_point(text, at))) return false;
      return !text.empty();
    }
    case Question::kIdentifier: {
      if (text.empty()) return false;
      size_t at = 0;
      return (properties_of(next_code_point(text, at)) & kIdentifierStart) != 0 &&
             all_have(text.substr(at), kIdentifierPart);
    }
  }
  return false;
}

}  // namespace ingle::jinja
