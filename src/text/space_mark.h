// SentencePiece's visible space: models that use it have U+2581 in their tokens wherever the text has ' '.
#pragma once

#include <string>
#include <string_view>

namespace ingle {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

inline void append_marked(std::string_view text, std::string& out) {
  out.reserve(out.size() + text.size() + text.size() / 2);
  for (char c : text) {
    if (c == ' ') {
      out += kSpaceMark;
    } else {
      out += c;
    }
  }
}

inline void append_unmarked(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size();) {
    const bool mark = text.substr(i, kSpaceMark.size()) == kSpaceMark;
    out += mark ? ' ' : text[i];
    i += mark ? kSpaceMark.size() : 1;
  }
}

}  // namespace ingle
