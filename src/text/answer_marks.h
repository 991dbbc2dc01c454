// Whether a mark of an answer format stands at the beginning of a text that may still grow.
#pragma once

#include <cstddef>
#include <string_view>

#include "ingle/answer.h"

namespace ingle {

inline bool is_answer_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

inline std::string_view trim_answer_space(std::string_view text) noexcept {
  while (!text.empty() && is_answer_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_answer_space(text.back())) text.remove_suffix(1);
  return text;
}

struct MarkMatch {
  enum class Kind { kNo, kMaybe, kYes };  // kMaybe: the text ends before it is decided
  Kind kind;
  size_t length = 0;  // of the mark in the text
};

inline MarkMatch match_mark(std::string_view mark, std::string_view text) noexcept {
  constexpr size_t kMostSpace = 32;  // white space is held back while a mark may follow
  size_t at = 0;
  for (const char c : mark) {
    if (c == AnswerFormat::kAnySpace) {
      const size_t begin = at;
      while (at < text.size() && at - begin < kMostSpace && is_answer_space(text[at])) ++at;
      continue;
    }
    if (at == text.size()) return {MarkMatch::Kind::kMaybe};
    if (text[at++] != c) return {MarkMatch::Kind::kNo};
  }
  return {MarkMatch::Kind::kYes, at};
}

}  // namespace ingle
