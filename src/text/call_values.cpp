#include "text/call_values.h"

#include <fmt/format.h>

#include "text/utf8.h"

namespace ingle {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-' ||
         static_cast<unsigned char>(c) >= 0x80;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      append_escaped(out, c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::optional<std::string> whole_value(std::string_view text, ValueSyntax syntax) {
  ValueReader reader(text, syntax);
  try {
    std::string value = reader.value();
    reader.skip_space();
    if (reader.at_end()) return value;
  } catch (const ValueFailure&) {
  }
  return std::nullopt;
}

void ValueReader::fail(std::string_view what) const {
  throw ValueFailure{fmt::format("{} at byte {} of {}", what, at_, text_.size())};
}

void ValueReader::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

bool ValueReader::take(char c) {
  skip_space();
  if (peek() != c || at_end()) return false;
  ++at_;
  return true;
}

void ValueReader::expect(char c) {
  if (!take(c)) fail(fmt::format("no '{}'", c));
}

std::string ValueReader::word() {
  skip_space();
  const size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (begin == at_) fail("no name");
  return std::string(text_.substr(begin, at_ - begin));
}

char32_t ValueReader::hex(size_t digits) {
  char32_t code = 0;
  for (; digits > 0; --digits, ++at_) {
    const char c = peek();
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) fail("no hexadecimal digit");
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return code;
}

// The meaning of a string with backslashes, JSON's or Python's; `at_` is behind the opening quote.
std::string ValueReader::escaped_string(char quote) {
  std::string out;
  const bool json = syntax_ == ValueSyntax::kJson;
  for (;;) {
    if (at_end()) fail("a string has no end");
    const char c = text_[at_++];
    if (c == quote) return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at_end()) fail("a string has no end");
    const char e = text_[at_++];
    constexpr std::string_view kLetters = "nrtbf", kMeanings = "\n\r\t\b\f";
    if (const size_t i = kLetters.find(e); i != std::string_view::npos) {
      out += kMeanings[i];
    } else if (e == 'u') {
      char32_t code = hex(4);
      if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
        const size_t before = at_;
        at_ += 2;
        const char32_t low = hex(4);
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else {
          at_ = before;
        }
      }
      append_utf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    } else if (!json && e == 'x') {
      append_utf8(out, hex(2));
    } else if (e == '\\' || e == '"' || e == '/' || (!json && e == '\'')) {
      out += e;
    } else if (json) {
      --at_;
      fail(fmt::format("'\\{}' is no escape", e));
    } else {
      out += '\\';
      out += e;
    }
  }
}

// As it is written, but with control characters escaped.
void ValueReader::raw_json_string(std::string& out) {
  const size_t begin = at_++;
  escaped_string('"');  // checks it
  for (size_t i = begin; i < at_; ++i) {
    if (static_cast<unsigned char>(text_[i]) < 0x20) {
      append_escaped(out, text_[i]);
    } else {
      out += text_[i];
    }
  }
}

std::string ValueReader::string() {
  skip_space();
  if (syntax_ == ValueSyntax::kBraced && text_.substr(at_).starts_with(quote_)) {
    const size_t begin = at_ + quote_.size(), end = text_.find(quote_, begin);
    if (end == std::string_view::npos) fail("a string has no end");
    at_ = end + quote_.size();
    return std::string(text_.substr(begin, end - begin));
  }
  const char c = peek();
  if (c == '"' || (c == '\'' && syntax_ == ValueSyntax::kPython)) {
    ++at_;
    return escaped_string(c);
  }
  fail("no string");
}

// JSON's grammar, which Python's numbers share in practice.
void ValueReader::number(std::string& out) {
  const size_t begin = at_;
  const auto digits = [&] {
    const size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ == first) fail("no digit");
  };
  if (peek() == '-') ++at_;
  if (peek() == '0') {
    ++at_;
  } else {
    digits();
  }
  if (peek() == '.') {
    ++at_;
    digits();
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    digits();
  }
  if (at_ < text_.size() && is_word(text_[at_])) fail("a number goes on with a letter");
  out += text_.substr(begin, at_ - begin);
}

std::string ValueReader::key() {
  skip_space();
  if (syntax_ != ValueSyntax::kBraced || peek() == '"' || text_.substr(at_).starts_with(quote_)) return string();
  const size_t begin = at_;
  while (at_ < text_.size() && std::string_view(":,{}[]<").find(text_[at_]) == std::string_view::npos) ++at_;
  if (begin == at_) fail("no name of an argument");
  return std::string(text_.substr(begin, at_ - begin));
}

void ValueReader::container(std::string& out, char open, char close, int depth) {
  if (depth >= kMostValueDepth) fail(fmt::format("values are nested more than {} deep", kMostValueDepth));
  const bool object = open == '{';
  ++at_;
  out += object ? '{' : '[';
  for (bool first = true; !take(close); first = false) {
    if (!first) {
      expect(',');
      if (syntax_ == ValueSyntax::kPython && take(close)) break;
      out += ", ";
    }
    if (object) {
      skip_space();
      if (syntax_ == ValueSyntax::kJson) {
        if (peek() != '"') fail("no name of a member");
        raw_json_string(out);
      } else {
        out += json_quote(key());
      }
      expect(':');
      out += ": ";
    }
    value(out, depth + 1);
  }
  out += object ? '}' : ']';
}

void ValueReader::value(std::string& out, int depth) {
  skip_space();
  const char c = peek();
  if (c == '{') return container(out, '{', '}', depth);
  if (c == '[') return container(out, '[', ']', depth);
  if (c == '(' && syntax_ == ValueSyntax::kPython) return container(out, '(', ')', depth);
  if (c == '-' || is_digit(c)) return number(out);
  if (c == '"' && syntax_ == ValueSyntax::kJson) return raw_json_string(out);
  if ((c >= 'a' && c <= 'z') || c == 'T' || c == 'F' || c == 'N') {
    const size_t begin = at_;
    const std::string name = word();
    const bool python = syntax_ != ValueSyntax::kJson;  // templates print Python's words even between braces
    if (name == "true" || (python && name == "True")) {
      out += "true";
    } else if (name == "false" || (python && name == "False")) {
      out += "false";
    } else if (name == "null" || (python && name == "None")) {
      out += "null";
    } else {
      at_ = begin;
      fail(fmt::format("'{}' is no value", name.substr(0, 40)));
    }
    return;
  }
  if (at_end()) fail("no value");
  out += json_quote(string());
}

std::string ValueReader::value() {
  std::string out;
  value(out, 0);
  return out;
}

std::vector<std::pair<std::string, std::string>> ValueReader::object() {
  std::vector<std::pair<std::string, std::string>> members;
  expect('{');
  for (bool first = true; !take('}'); first = false) {
    if (!first) expect(',');
    skip_space();
    std::string name = key();
    expect(':');
    std::string text;
    value(text, 1);
    members.emplace_back(std::move(name), std::move(text));
  }
  return members;
}

}  // namespace ingle
