#include "apps/ingle/answer_output.h"

#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <vector>

#include "apps/ingle/fail.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/tools.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

// https://no-color.org; a terminal that knows no escape sequences.
bool may_dim() {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (none == nullptr || *none == '\0') && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace

void add_template_arguments(const Arguments& arguments, const Model& model, ChatRequest& request) {
  if (const std::string thinking = arguments.text("thinking"); thinking != "auto") {
    const ThinkingSwitch found = model.prompt_template().thinking_switch();
    if (found.name.empty()) {
      fail(ErrorCode::kInvalidArgument, "--thinking {}: this model's chat template has no switch for it; {}", thinking,
           model.answer_format().has_thinking() ? "whether it thinks is up to the model"
                                                : "nothing in it says that the model thinks at all");
    }
    request.arguments.emplace_back(found.name, thinking == "on" ? found.on : found.off);
  }
  if (arguments.given("tools")) {
    const std::string tools = read_tools(arguments.text("tools"));
    const std::string without = model.prompt_template().render(request);
    request.arguments.emplace_back("tools", tools);
    if (tools != "[]" && model.prompt_template().render(request) == without)
      fail(ErrorCode::kInvalidArgument,
           "--tools: this model's chat template has no place for them; what the model should know of them can go into "
           "--system");
  }
}

AnswerOutput::Thinking AnswerOutput::thinking_place(const Arguments& arguments) {
  const std::string show = arguments.text("show-thinking");
  if (show == "never") return Thinking::kHidden;
  if (stdout_is_terminal()) return Thinking::kStdout;
  return show == "always" ? Thinking::kStderr : Thinking::kHidden;
}

AnswerOutput::AnswerOutput(AnswerFormat format, AnswerParser::Options options, Thinking thinking, bool quiet)
    : parser_(std::move(format), std::move(options)),
      place_(thinking),
      quiet_(quiet),
      dim_(may_dim() && (thinking == Thinking::kStdout || stderr_is_terminal())) {}

void AnswerOutput::write(std::string_view piece) {
  for (const AnswerEvent& event : parser_.push(piece)) show(event);
}

const ParsedAnswer& AnswerOutput::finish() {
  for (const AnswerEvent& event : parser_.finish()) show(event);
  if (quiet_) return parsed_;
  end_thinking();
  for (const std::string& problem : parsed_.problems)
    note("ingle: note: {}; it stays part of the text", printable(problem));
  return parsed_;
}

void AnswerOutput::show(const AnswerEvent& event) {
  parsed_.add(event);
  if (quiet_) return;
  switch (event.kind) {
    case AnswerEvent::Kind::kThinking:
      show_thinking(event.bytes);
      break;
    case AnswerEvent::Kind::kText:
    case AnswerEvent::Kind::kBroken:
      end_thinking();
      write_stdout(event.bytes);
      last_line_ = event.bytes.empty() ? last_line_ : event.bytes.substr(event.bytes.size() - 1);
      break;
    case AnswerEvent::Kind::kCall:
      end_thinking();
      put("{}{{\"name\": {}, \"arguments\": {}}}\n", last_line_.empty() || last_line_ == "\n" ? "" : "\n",
          boost::json::serialize(boost::json::value(event.call.name)), event.call.arguments);
      last_line_.assign(1, '\n');
      break;
    case AnswerEvent::Kind::kMarkup:
    case AnswerEvent::Kind::kCallBegun:
      break;
  }
}

// Piece by piece: whatever ends the program, the terminal does not stay dim.
void AnswerOutput::show_thinking(std::string_view text) {
  if (place_ == Thinking::kHidden) return;
  in_thinking_ = true;
  const std::string shown = dim_ ? fmt::format("\x1b[2m{}\x1b[m", text) : std::string(text);
  if (place_ == Thinking::kStdout) {
    write_stdout(shown);
  } else {
    write_stderr(shown);
  }
}

void AnswerOutput::end_thinking() {
  if (!in_thinking_) return;
  in_thinking_ = false;
  if (place_ == Thinking::kStdout) {
    write_stdout("\n\n");
  } else {
    write_stderr("\n\n");
  }
}

void add_json(const ParsedAnswer& parsed, boost::json::object& object) {
  object["text"] = to_valid_utf8(parsed.text);
  object["thinking"] = to_valid_utf8(parsed.thinking);
  if (!parsed.problems.empty()) object["broken_calls"] = boost::json::value_from(parsed.problems);
}

std::string calls_json(const ParsedAnswer& parsed) {
  std::vector<std::string> calls;
  for (const ToolCall& call : parsed.calls) {
    boost::json::object entry{{"name", call.name}};
    if (!call.id.empty()) entry["id"] = call.id;
    calls.push_back(json_text(entry, "arguments", call.arguments));
  }
  return fmt::format("[{}]", fmt::join(calls, ","));
}

}  // namespace ingle::app
