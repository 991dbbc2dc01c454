// An answer on its way to the reader: text on stdout, thinking apart from it.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "apps/ingle/options.h"
#include "ingle/ingle.h"

namespace ingle::app {

// --thinking and --tools as template variables. Throws Error: kInvalidArgument where the template has no switch for
// thinking, or writes the same text with the tools as without; what read_tools() throws.
void add_template_arguments(const Arguments& arguments, const Model& model, ChatRequest& request);

class AnswerOutput {
 public:
  enum class Thinking { kHidden, kStdout, kStderr };

  // Where --show-thinking wants it. On stdout only where that is a terminal.
  static Thinking thinking_place(const Arguments& arguments);

  // With `quiet`, nothing is written.
  AnswerOutput(AnswerFormat format, AnswerParser::Options options, Thinking thinking, bool quiet = false);

  void write(std::string_view piece);
  // The end: what was held back goes out. Says on stderr what was wrong with calls.
  const ParsedAnswer& finish();
  bool line_open() const { return last_line_ != "\n"; }  // stdout got something else last, or nothing

 private:
  void show(const AnswerEvent& event);
  void show_thinking(std::string_view text);
  void end_thinking();

  AnswerParser parser_;
  Thinking place_;
  bool quiet_, dim_;
  bool in_thinking_ = false;
  std::string last_line_;  // whether what stdout got so far ends in a newline
  ParsedAnswer parsed_;
};

// "text", "thinking", and "broken_calls" where there are any.
void add_json(const ParsedAnswer& parsed, boost::json::object& object);
// A JSON array of name, id where there is one, and arguments as the model wrote them.
std::string calls_json(const ParsedAnswer& parsed);

}  // namespace ingle::app
