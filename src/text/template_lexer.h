// Cuts a template's source into tokens: text as it will print (white space already trimmed), and what stands in tags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/template_value.h"

namespace ingle::jinja {

enum class TokenType : uint8_t {
  kData,           // text: printed as it is
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kInteger,
  kFloat,
  kString,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type;
  int line;
  std::string text;  // of a string: its value
  Int integer = 0;
  double number = 0;
};

// Throws Failure with a message that begins with the line. The last token is kEnd.
std::vector<Token> tokenize(std::string_view source);

// "line 12: ..."
[[noreturn]] void fail_at(int line, std::string_view message);

}  // namespace ingle::jinja
