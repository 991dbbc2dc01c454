// What str.isdigit, str.isupper and their like ask of a whole text.
#pragma once

#include "text/template_value.h"

namespace ingle::jinja {

enum class Question {
  kDigit,
  kAlpha,
  kAlnum,
  kSpace,
  kUpper,
  kLower,
  kTitle,
  kNumeric,
  kDecimal,
  kIdentifier,
  kAscii,
  kPrintable
};

// As Python's str answers. O(size of the text).
bool answer(Question question, const String& s);

}  // namespace ingle::jinja
