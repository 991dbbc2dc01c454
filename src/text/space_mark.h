// SentencePiece's visible space: models that use it have U+2581 in their tokens wherever the text has ' '.
#pragma once

#include <bitset>
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

// Nothing is ever joined across the place before a U+2581 unless some token holds that byte and a mark after it; so a
// text may be cut there, which changes no result and makes many short words of one long one.
class MarkCutter {
 public:
  // Some token is made of a left part that ends in this byte, and a right part that begins with a mark.
  void joins_after(char byte) { before_mark_.set(static_cast<unsigned char>(byte)); }

  // Where the word that starts at `begin` ends.
  size_t word_end(std::string_view text, size_t begin) const noexcept {
    for (size_t i = text.find(kSpaceMark, begin + 1); i != std::string_view::npos; i = text.find(kSpaceMark, i + 1)) {
      if (!before_mark_[static_cast<unsigned char>(text[i - 1])]) return i;
    }
    return text.size();
  }

 private:
  std::bitset<256> before_mark_;
};

}  // namespace ingle
