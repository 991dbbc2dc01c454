#include "text/chat_template.h"

#include <boost/json.hpp>

#include "base/error.h"
#include "text/template_from_json.h"
#include "text/template_interpreter.h"
#include "text/template_unicode.h"

namespace ingle {

TemplateVariables::TemplateVariables(const boost::json::object& values) {
  for (const auto& [name, value] : values)
    variables_.push_back({.name = std::string(name), .json = boost::json::serialize(value), .any_bytes = true});
}
void TemplateVariables::set(std::string name, std::string json) {
  variables_.push_back({.name = std::move(name), .json = std::move(json)});
}
void TemplateVariables::set_conversation(std::string json) {
  variables_.push_back({.name = "messages", .json = std::move(json), .conversation = true});
}
void TemplateVariables::set_conversation(const boost::json::array& messages) {
  variables_.push_back(
      {.name = "messages", .json = boost::json::serialize(messages), .any_bytes = true, .conversation = true});
}

struct ChatTemplate::State {
  TemplateLimits limits;
  std::unique_ptr<jinja::Program> program;

  void set_variables(const TemplateVariables& variables, jinja::Heap& heap, jinja::Environment& globals) const;
};

ChatTemplate::ChatTemplate(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

ChatTemplate ChatTemplate::parse(std::string_view source, TemplateLimits limits) {
  if (source.size() > limits.source_bytes)
    throw_error(ErrorCode::kInvalidFile, "chat template: {} bytes, the limit is {}", source.size(),
                limits.source_bytes);
  if (!jinja::is_utf8(source)) throw_error(ErrorCode::kInvalidFile, "chat template: not valid UTF-8");
  auto state = std::make_unique<State>();
  state->limits = limits;
  try {
    state->program = jinja::parse_program(source, limits);
  } catch (const jinja::Failure& failure) {
    throw_error(ErrorCode::kInvalidFile, "chat template: {}", failure.message);
  }
  return ChatTemplate(std::move(state));
}

// Also what the template never asks for has to be JSON.
void ChatTemplate::State::set_variables(const TemplateVariables& variables, jinja::Heap& heap,
                                        jinja::Environment& globals) const {
  for (const auto& [name, json, any_bytes, conversation] : variables.variables_) {
    const bool trusted = name != "messages" && name != "tools" && name != "documents";
    const std::string shown = name == "messages" ? name : fmt::format("template argument '{}'", name);
    const auto strings = any_bytes ? JsonDocument::Strings::kAnyBytes : JsonDocument::Strings::kUtf8;
    try {
      jinja::Value value = jinja::from_json(heap, json, shown, trusted, strings);
      if (conversation) value = jinja::normalize_messages(heap, value);
      if (const int symbol = program->find_symbol(name); symbol >= 0) globals.set(heap, symbol, value);
    } catch (const jinja::Failure& failure) {
      throw Error(ErrorCode::kInvalidArgument, failure.message);
    }
  }
}

ChatTemplate::Rendering ChatTemplate::render_all(const TemplateVariables& variables,
                                                 std::chrono::system_clock::time_point now) const {
  jinja::Heap heap(state_->limits);
  const jinja::Program& program = *state_->program;
  jinja::Interpreter interpreter(program, heap);
  try {
    auto* globals = heap.make<jinja::Environment>(nullptr);
    jinja::define_functions(program, heap, *globals, now);
    state_->set_variables(variables, heap, *globals);
    const jinja::Text text = interpreter.run(*globals);
    Rendering rendering{{}, interpreter.generated()};
    size_t at = 0;
    for (const jinja::Run& run : text.runs()) {
      rendering.spans.push_back({text.text().substr(at, run.length), run.trusted});
      at += run.length;
    }
    return rendering;
  } catch (const jinja::Failure& failure) {
    if (failure.verbatim) throw Error(ErrorCode::kInvalidArgument, failure.message);
    throw_error(ErrorCode::kInvalidArgument, "line {}: {}", interpreter.line(), failure.message);
  }
}

std::vector<ChatTemplate::Span> ChatTemplate::render_spans(const TemplateVariables& variables,
                                                           std::chrono::system_clock::time_point now) const {
  return render_all(variables, now).spans;
}

std::string ChatTemplate::render(const TemplateVariables& variables, std::chrono::system_clock::time_point now) const {
  std::string text;
  for (const Span& span : render_spans(variables, now)) text += span.text;
  return text;
}

}  // namespace ingle
