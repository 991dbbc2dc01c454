#include "text/chat_template.h"

#include <boost/json.hpp>

#include "base/error.h"
#include "text/template_interpreter.h"
#include "text/template_unicode.h"

namespace ingle {

struct ChatTemplate::State {
  TemplateLimits limits;
  std::unique_ptr<jinja::Program> program;
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

ChatTemplate::Rendering ChatTemplate::render_all(const boost::json::object& variables,
                                                 std::chrono::system_clock::time_point now) const {
  jinja::Heap heap(state_->limits);
  const jinja::Program& program = *state_->program;
  jinja::Interpreter interpreter(program, heap);
  try {
    auto* globals = heap.make<jinja::Environment>(nullptr);
    jinja::define_functions(program, heap, *globals, now);
    for (const auto& [name, value] : variables) {
      const int symbol = program.find_symbol(std::string_view(name));
      if (symbol < 0) continue;  // the template never asks for it
      const bool trusted = name != "messages" && name != "tools" && name != "documents";
      globals->set(heap, symbol, jinja::from_json(heap, value, trusted));
    }
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

std::vector<ChatTemplate::Span> ChatTemplate::render_spans(const boost::json::object& variables,
                                                           std::chrono::system_clock::time_point now) const {
  return render_all(variables, now).spans;
}

std::string ChatTemplate::render(const boost::json::object& variables,
                                 std::chrono::system_clock::time_point now) const {
  std::string text;
  for (const Span& span : render_spans(variables, now)) text += span.text;
  return text;
}

boost::json::array normalize_messages(const boost::json::array& messages) {
  if (messages.empty()) throw_error(ErrorCode::kInvalidArgument, "the conversation is empty");
  boost::json::array out;
  for (const boost::json::value& message : messages) {
    if (!message.is_object()) throw_error(ErrorCode::kInvalidArgument, "message {} is not an object", out.size());
    const boost::json::object& given = message.get_object();
    const boost::json::value* reasoning = nullptr;
    for (const char* key : {"reasoning_content", "thinking", "reasoning"}) {
      const boost::json::value* found = given.if_contains(key);
      if (reasoning == nullptr && found != nullptr && !found->is_null()) reasoning = found;
    }
    boost::json::object cleaned;
    const auto* thinking = given.if_contains("thinking");
    // `thinking` comes first in any case, an added reasoning_content last: the order the reference prints.
    if (reasoning != nullptr)
      cleaned["thinking"] = thinking != nullptr && !thinking->is_null() ? *thinking : *reasoning;
    for (const auto& [key, value] : given)
      if (!value.is_null()) cleaned[key] = key == "reasoning_content" && reasoning != nullptr ? *reasoning : value;
    if (reasoning != nullptr) cleaned["reasoning_content"] = *reasoning;
    out.push_back(std::move(cleaned));
  }
  return out;
}

}  // namespace ingle
