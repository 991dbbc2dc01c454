// One pass for what concerns single characters; decomposition sees several at once, so it is a pass between two.
#include "text/bert_normalizer.h"

#include <algorithm>

#include "text/template_unicode.h"
#include "text/unicode.h"
#include "text/unicode_classes.h"
#include "text/utf8.h"

namespace ingle {
namespace {

// As in the models' own code, whose fifth range starts 0x100 too late for its block.
bool is_cjk(char32_t c) noexcept {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

constexpr CategoryMask kDropped =
    bit(Category::kCc) | bit(Category::kCf) | bit(Category::kCo) | bit(Category::kSpace);  // but for \t \n \r

bool is_dropped(char32_t c) noexcept {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0xFFFD || is_in(c, kDropped);
}

// The code point of a step, and U+FFFD for a bad sequence.
char32_t code_of(const Utf8Step& step) noexcept { return step.valid() ? step.code : 0xFFFD; }

template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    visit(code_of(step));
    text.remove_prefix(step.length);
  }
}

void append_lower(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  } else {
    jinja::append_cased(out, c, jinja::CaseForm::kLower);
  }
}

bool is_punctuation(char32_t c) noexcept {
  if (c < 0x80)
    return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) || (c >= 0x7B && c <= 0x7E);
  return is_in(c, kPunctuation);
}

}  // namespace

std::string bert_normalize(std::string_view text, const BertNormalizerOptions& options) {
  std::string out;
  out.reserve(text.size() + 16);
  for_each_character(text, [&](char32_t c) {
    if (options.clean_text) {
      if (is_dropped(c)) return;
      if (is_white_space(c)) c = ' ';
    }
    if (options.split_cjk && is_cjk(c)) {
      out += ' ';
      append_utf8(out, c);
      out += ' ';
    } else if (options.lowercase && !options.strip_accents) {
      append_lower(out, c);
    } else {
      append_utf8(out, c);
    }
  });
  if (!options.strip_accents) return out;
  const std::string decomposed = to_nfd(out);
  out.clear();
  for_each_character(decomposed, [&](char32_t c) {
    if (c >= 0x80 && category(c) == Category::kMn) return;
    if (options.lowercase) {
      append_lower(out, c);
    } else {
      append_utf8(out, c);
    }
  });
  return out;
}

std::vector<std::string_view> bert_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  const auto cut = [&](size_t end) {
    if (end > begin) words.push_back(text.substr(begin, end - begin));
  };
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(i));
    const char32_t c = code_of(step);
    if (is_white_space(c)) {
      cut(i);
      begin = i + step.length;
    } else if (is_punctuation(c)) {
      cut(i);
      words.push_back(text.substr(i, step.length));
      begin = i + step.length;
    }
    i += step.length;
  }
  cut(text.size());
  return words;
}

}  // namespace ingle
