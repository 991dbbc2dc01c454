#include "text/template_lexer.h"

#include <algorithm>
#include <charconv>

#include "text/template_unicode.h"

namespace ingle::jinja {

void fail_at(int line, std::string_view message) { throw Failure{fmt::format("line {}: {}", line, message)}; }

namespace {

std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();  // one newline at the end is not part of the template
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalize_newlines(source)), s_(source_) {}

  std::vector<Token> run() {
    while (at_ < s_.size()) text();
    add(TokenType::kEnd, "");
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view part) const { return s_.substr(at_).starts_with(part); }

  void advance(size_t bytes) {
    line_ += static_cast<int>(std::count(s_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         s_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes), '\n'));
    at_ += bytes;
  }

  void add(TokenType type, std::string text) { tokens_.push_back({type, line_, std::move(text)}); }

  size_t skip_space(size_t at) const {
    for (size_t next = at; next < s_.size(); at = next)
      if (!is_space(next_code_point(s_, next))) return at;
    return s_.size();
  }

  // Ends a tag with `length` bytes of delimiter; white space behind `-`, one newline behind a block, go with it.
  void close(size_t length, bool strip, bool trim) {
    const size_t begin = at_;
    advance(length);
    if (strip)
      advance(skip_space(at_) - at_);
    else if (trim && at_ < s_.size() && s_[at_] == '\n')
      advance(1);
    line_starts_ = at_ > begin && s_[at_ - 1] == '\n';
  }

  // Text up to a tag, cut as the tag's sign and the rules of the line demand.
  void data(std::string_view text, char sign, bool is_variable) {
    if (sign == '-') {
      size_t end = text.size();
      while (end > 0) {
        const size_t last = previous_code_point(text, end);
        size_t next = last;
        if (!is_space(next_code_point(text, next))) break;
        end = last;
      }
      text = text.substr(0, end);
    } else if (sign != '+' && !is_variable) {
      const size_t newline = text.rfind('\n');
      const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
      if (begin > 0 || line_starts_) {
        size_t at = begin;
        bool blank = true;
        while (at < text.size() && blank) blank = is_space(next_code_point(text, at));
        if (blank) text = text.substr(0, begin);
      }
    }
    if (!text.empty()) add(TokenType::kData, std::string(text));
  }

  static char sign_at(std::string_view s, size_t at) {
    return at < s.size() && (s[at] == '-' || s[at] == '+') ? s[at] : '\0';
  }

  void text() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = s_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 >= s_.size()) {
        add(TokenType::kData, std::string(s_.substr(at_)));
        at_ = s_.size();
        return;
      }
      if (s_[tag + 1] == '{' || s_[tag + 1] == '%' || s_[tag + 1] == '#') break;
    }
    const char kind = s_[tag + 1], sign = sign_at(s_, tag + 2);
    data(s_.substr(at_, tag - at_), sign, kind == '{');
    advance(tag - at_);
    const size_t open = sign != '\0' ? 3 : 2;
    if (kind == '#') return comment(open);
    if (kind == '%' && raw(open)) return;
    line_starts_ = false;
    add(kind == '{' ? TokenType::kVariableBegin : TokenType::kBlockBegin, "");
    advance(open);
    inside(kind == '{');
  }

  void comment(size_t open) {
    const int line = line_;
    const size_t end = s_.find("#}", at_ + open);
    if (end == std::string_view::npos) fail_at(line, "missing end of comment tag");
    // A sign belongs to the end only if it is not the one that stands at the beginning.
    const char sign = end > at_ + open ? sign_at(s_, end - 1) : '\0';
    advance(end - at_);
    close(2, sign == '-', sign != '+');
  }

  // {% raw %}...{% endraw %}: text, whatever it holds.
  bool raw(size_t open) {
    const size_t word = skip_space(at_ + open);
    if (!s_.substr(word).starts_with("raw")) return false;
    const size_t end = skip_space(word + 3);
    const bool strip = s_.substr(end).starts_with("-%}");
    if (!strip && !s_.substr(end).starts_with("%}")) return false;
    const int line = line_;
    advance(end - at_);
    close(strip ? 3 : 2, strip, false);
    for (size_t tag = at_; (tag = s_.find("{%", tag)) != std::string_view::npos; ++tag) {
      const char sign = sign_at(s_, tag + 2);
      const size_t name = skip_space(tag + (sign != '\0' ? 3 : 2));
      if (!s_.substr(name).starts_with("endraw")) continue;
      const size_t close_at = skip_space(name + 6);
      const char end_sign = sign_at(s_, close_at);
      if (!s_.substr(close_at + (end_sign != '\0' ? 1 : 0)).starts_with("%}")) continue;
      data(s_.substr(at_, tag - at_), sign, false);
      advance(close_at - at_);
      close(end_sign != '\0' ? 3 : 2, end_sign == '-', end_sign != '+');
      return true;
    }
    fail_at(line, "missing end of raw directive");
  }

  // The tokens of a tag, up to and with its end.
  void inside(bool variable) {
    std::string open;  // brackets that wait for their partner: a tag does not end inside them
    const int line = line_;
    const std::string_view end = variable ? "}}" : "%}";
    while (at_ < s_.size()) {
      if (open.empty()) {
        const bool minus = starts("-") && s_.substr(at_ + 1).starts_with(end);
        const bool plus = !variable && starts("+") && s_.substr(at_ + 1).starts_with(end);
        if (minus || plus || starts(end)) {
          add(variable ? TokenType::kVariableEnd : TokenType::kBlockEnd, "");
          return close(minus || plus ? 3 : 2, minus, !variable && !plus);
        }
      }
      token(open);
    }
    fail_at(line, variable ? "'{{' is not closed" : "'{%' is not closed");
  }

  void token(std::string& open) {
    const size_t space = skip_space(at_);
    if (space > at_) return advance(space - at_);
    const char c = s_[at_];
    if (c >= '0' && c <= '9') return number();
    if (c == '\'' || c == '"') return string(c);
    size_t next = at_;
    const uint32_t point = next_code_point(s_, next);
    if (point == '_' || (properties_of(point) & kIdentifierStart) != 0) return name();
    operator_(open);
  }

  void name() {
    size_t end = at_;
    for (size_t next = at_; next < s_.size(); end = next)
      if ((properties_of(next_code_point(s_, next)) & kIdentifierPart) == 0) break;
    add(TokenType::kName, std::string(s_.substr(at_, end - at_)));
    advance(end - at_);
  }

  // Digits with single underscores between them.
  static size_t digits(std::string_view s, size_t at, int base) {
    const auto is_digit = [&](size_t i) {
      if (i >= s.size()) return false;
      const char c = s[i];
      const int value = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : 99;
      return value < base;
    };
    while (is_digit(at) || (at < s.size() && s[at] == '_' && is_digit(at + 1))) ++at;
    return at;
  }

  void number() {
    const bool after_dot = at_ > 0 && s_[at_ - 1] == '.';
    const size_t whole = digits(s_, at_, 10);
    size_t end = whole;
    if (!after_dot) {
      if (end + 1 < s_.size() && s_[end] == '.' && s_[end + 1] >= '0' && s_[end + 1] <= '9')
        end = digits(s_, end + 1, 10);
      if (end < s_.size() && (s_[end] == 'e' || s_[end] == 'E')) {
        const size_t sign = end + 1 < s_.size() && (s_[end + 1] == '-' || s_[end + 1] == '+') ? 1 : 0;
        const size_t first = end + 1 + sign;
        if (first < s_.size() && s_[first] >= '0' && s_[first] <= '9') end = digits(s_, first, 10);
      }
    }
    Token token{end > whole ? TokenType::kFloat : TokenType::kInteger, line_, ""};
    if (end > whole) {
      std::string text(s_.substr(at_, end - at_));
      std::erase(text, '_');
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), token.number);
      if (parsed.ec != std::errc()) token.number = std::strtod(text.c_str(), nullptr);  // beyond the range: inf or 0
    } else {
      end = integer(token.integer);
    }
    tokens_.push_back(token);
    advance(end - at_);
  }

  size_t integer(Int& value) {
    int base = 10;
    size_t begin = at_, end = 0;
    if (s_[at_] == '0') {
      const char mark = at_ + 1 < s_.size() ? static_cast<char>(s_[at_ + 1] | 0x20) : '\0';
      const int prefixed = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
      if (prefixed != 0 && digits(s_, at_ + 2, prefixed) > at_ + 2) {
        base = prefixed;
        begin = at_ + 2;
      } else {
        base = 1;  // zeros only: 007 is 00 and 7
      }
    }
    end = digits(s_, begin, base);
    for (size_t i = begin; i < end; ++i) {
      if (s_[i] == '_') continue;
      const char c = s_[i];
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      if (__builtin_mul_overflow(value, Int(base == 1 ? 10 : base), &value) ||
          __builtin_add_overflow(value, Int(digit), &value))
        fail_at(line_, "an integer beyond 127 bits is not supported");
    }
    return end;
  }

  void string(char quote) {
    size_t end = at_ + 1;
    while (end < s_.size() && s_[end] != quote) end += s_[end] == '\\' ? 2 : 1;
    if (end >= s_.size()) fail_at(line_, fmt::format("a string begins with {} and does not end", quote));
    add(TokenType::kString, unescape(s_.substr(at_ + 1, end - at_ - 1)));
    advance(end + 1 - at_);
  }

  std::string unescape(std::string_view text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text[at] != '\\' || at + 1 >= text.size()) {
        out += text[at++];
        continue;
      }
      const char c = text[at + 1];
      at += 2;
      switch (c) {
        case '\n':
          break;
        case '\\':
          out += '\\';
          break;
        case '\'':
          out += '\'';
          break;
        case '"':
          out += '"';
          break;
        case 'a':
          out += '\a';
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case 'n':
          out += '\n';
          break;
        case 'r':
          out += '\r';
          break;
        case 't':
          out += '\t';
          break;
        case 'v':
          out += '\v';
          break;
        case 'x':
          append_code_point(out, hex(text, at, 2));
          break;
        case 'u':
          append_code_point(out, hex(text, at, 4));
          break;
        case 'U':
          append_code_point(out, hex(text, at, 8));
          break;
        case 'N':
          append_code_point(out, named(text, at));
          break;
        default:
          if (c >= '0' && c <= '7') {
            uint32_t value = static_cast<uint32_t>(c - '0');
            for (int i = 0; i < 2 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i)
              value = value * 8 + static_cast<uint32_t>(text[at++] - '0');
            append_code_point(out, value);
          } else {
            out += '\\';
            out += c;
          }
      }
    }
    return out;
  }

  uint32_t hex(std::string_view text, size_t& at, size_t length) const {
    uint32_t value = 0;
    const std::string_view digits = text.substr(std::min(at, text.size()), length);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() < length || parsed.ec != std::errc() || parsed.ptr != digits.data() + length || value > 0x10ffff)
      fail_at(line_, "truncated or invalid escape in a string");
    if (value >= 0xd800 && value < 0xe000) fail_at(line_, "a surrogate in a string: it cannot be written as UTF-8");
    at += length;
    return value;
  }

  uint32_t named(std::string_view text, size_t& at) const {
    const size_t end = text.find('}', at);
    if (at >= text.size() || text[at] != '{' || end == std::string_view::npos)
      fail_at(line_, "malformed \\N character escape");
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const auto found = named_character(name);
    if (!found)
      fail_at(line_,
              fmt::format("\\N{{{}}}: only names of Latin letters, punctuation, arrows and other symbols are known "
                          "here; write it as \\uXXXX or \\UXXXXXXXX",
                          name));
    at = end + 1;
    return *found;
  }

  void operator_(std::string& open) {
    static constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                      "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                      ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto it = std::find_if(std::begin(kOperators), std::end(kOperators), [&](auto o) { return starts(o); });
    if (it == std::end(kOperators)) {
      size_t next = at_;
      next_code_point(s_, next);
      fail_at(line_, fmt::format("unexpected char '{}'", s_.substr(at_, next - at_)));
    }
    const char c = (*it)[0];
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) fail_at(line_, fmt::format("unexpected '{}'", c));
      if (open.back() != c) fail_at(line_, fmt::format("unexpected '{}', expected '{}'", c, open.back()));
      open.pop_back();
    }
    add(TokenType::kOperator, std::string(*it));
    advance(it->size());
  }

  std::string source_;
  std::string_view s_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace ingle::jinja
