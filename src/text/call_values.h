// The values models write as arguments of calls (JSON, Python's literals, braces with quote tokens), as JSON text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingle {

constexpr int kMostValueDepth = 64;

enum class ValueSyntax {
  kJson,    // with raw control characters allowed in strings: models write newlines there
  kPython,  // True, None, 'text', (tuples)
  kBraced,  // {key:value}: bare keys, texts between two `quote` with nothing escaped
};

// What is wrong with a text, thrown by ValueReader and caught by whoever made it.
struct ValueFailure {
  std::string problem;
};

// Reads along one text. Numbers and JSON's strings stay as they are written. Nesting is bounded.
class ValueReader {
 public:
  ValueReader(std::string_view text, ValueSyntax syntax, std::string_view quote = {})
      : text_(text), syntax_(syntax), quote_(quote) {}

  void skip_space();
  bool at_end() const { return at_ == text_.size(); }
  size_t position() const { return at_; }
  bool take(char c);    // after white space
  void expect(char c);  // or fails
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string word();    // a name: letters, digits, _ . - and what is not ASCII
  std::string string();  // a string's meaning
  std::string value();   // JSON text
  // The members of an object, each value as JSON text.
  std::vector<std::pair<std::string, std::string>> object();
  [[noreturn]] void fail(std::string_view what) const;

 private:
  void value(std::string& out, int depth);
  void container(std::string& out, char open, char close, int depth);
  void number(std::string& out);
  std::string key();
  void raw_json_string(std::string& out);
  std::string escaped_string(char quote);
  char32_t hex(size_t digits);

  std::string_view text_;
  ValueSyntax syntax_;
  std::string_view quote_;
  size_t at_ = 0;
};

std::string json_quote(std::string_view text);
// The whole text as one value; nullopt when it is none.
std::optional<std::string> whole_value(std::string_view text, ValueSyntax syntax);

}  // namespace ingle
