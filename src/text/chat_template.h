// Chat templates: the Jinja language as models use it, rendered as transformers and Jinja2 do, with bounded cost.
#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

// Untrusted input: whatever a template does, it stops within these.
struct TemplateLimits {
  int64_t steps = 10'000'000;  // evaluated nodes
  int depth = 200;             // nesting of expressions, macros, loops, and of the parser
  size_t source_bytes = 1 << 20;
  size_t output_bytes = 64 << 20;  // also of any intermediate string
  size_t value_bytes = 256 << 20;  // everything the template builds, added up
};

// The names that a template sees (messages, tools, add_generation_prompt, bos_token, ...), each with its value as JSON
// text, so that numbers arrive as they were written. Of a name set twice the last value counts.
class TemplateVariables {
 public:
  TemplateVariables() = default;
  TemplateVariables(const boost::json::object& values);  // strings in it may be any bytes

  void set(std::string name, std::string json);
  // `messages` as transformers hands them to a template: null members dropped, reasoning_content and thinking filled
  // in.
  void set_conversation(std::string json);
  void set_conversation(const boost::json::array& messages);

 private:
  friend class ChatTemplate;
  struct Variable {
    std::string name, json;
    bool any_bytes = false, conversation = false;
  };
  std::vector<Variable> variables_;
};

// A parsed template is immutable; render is thread-safe.
class ChatTemplate {
 public:
  // Throws Error{kInvalidFile} with the template's line and what is wrong.
  static ChatTemplate parse(std::string_view source, TemplateLimits limits = {});
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // `now` is what strftime_now formats (local time).
  // Throws Error{kInvalidArgument}: raise_exception's text exactly, or the line and what failed; a variable that is not
  // JSON, and messages that are no conversation; kOutOfMemory for a limit.
  std::string render(const TemplateVariables& variables, std::chrono::system_clock::time_point now) const;

  // The same text cut into spans: what the template itself wrote, and what came from a string in `messages` or `tools`
  // (or was computed from one). Only the former may be parsed for special tokens.
  struct Span {
    std::string text;
    bool trusted;
  };
  std::vector<Span> render_spans(const TemplateVariables& variables, std::chrono::system_clock::time_point now) const;

  // And what stands in {% generation %}: the assistant's words, for whoever trains on them. Byte positions in the whole
  // text, in the order the tags were left; where such a tag stands in a macro, where the text around the call had got
  // to (as transformers counts).
  struct Generated {
    size_t begin, end;
  };
  struct Rendering {
    std::vector<Span> spans;
    std::vector<Generated> generated;
  };
  Rendering render_all(const TemplateVariables& variables, std::chrono::system_clock::time_point now) const;

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ingle
