#include "ingle/prompt_template.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/error.h"
#include "runtime/prompt_template_impl.h"

namespace ingle {
namespace {

namespace json = boost::json;

// What most models that come without a template were trained on.
constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

json::array messages_of(const ChatRequest& request) {
  json::array messages;
  for (const ChatMessage& message : request.messages) {
    messages.push_back(json::object{{"role", message.role}, {"content", message.content}});
    if (!message.reasoning.empty()) messages.back().get_object()["reasoning_content"] = message.reasoning;
  }
  return messages;
}

TemplateVariables template_variables(const ChatRequest& request, const PromptTemplate::SpecialTokens& special_tokens) {
  // tools and documents: there, and none, which is what transformers passes when it has neither.
  json::object ours{
      {"add_generation_prompt", request.add_generation_prompt}, {"tools", nullptr}, {"documents", nullptr}};
  for (const auto& [name, text] : special_tokens) ours[name] = text;
  TemplateVariables variables(ours);
  if (request.messages_json.empty()) {
    variables.set_conversation(messages_of(request));
  } else {
    variables.set_conversation(request.messages_json);
  }
  for (const auto& [name, value] : request.arguments) variables.set(name, value);
  return variables;
}

}  // namespace

PromptTemplate::Impl::Impl(std::string source_, SpecialTokens special_tokens_, TemplateLimits limits)
    : source(source_.empty() ? std::string(kChatMl) : std::move(source_)),
      special_tokens(std::move(special_tokens_)),
      parsed(ChatTemplate::parse(source, limits)) {}

PromptTemplate::Impl PromptTemplate::Impl::for_probes() const {
  return Impl(source, special_tokens, {.steps = 300'000, .output_bytes = 1 << 20, .value_bytes = 16 << 20});
}

std::vector<ChatTemplate::Span> PromptTemplate::Impl::render_spans(const ChatRequest& request,
                                                                   std::chrono::system_clock::time_point now) const {
  std::vector<ChatTemplate::Span> spans = parsed.render_spans(template_variables(request, special_tokens), now);
  // Gemma 4's first templates could close a turn and forget to open the model's. What a message says does not count.
  constexpr std::string_view kClosed = "<turn|>\n", kOpened = "<|turn>model\n";
  std::string end;
  for (auto span = spans.rbegin(); span != spans.rend() && span->trusted && end.size() < kClosed.size(); ++span)
    end.insert(0, span->text);
  if (request.add_generation_prompt && end.ends_with(kClosed)) spans.push_back({std::string(kOpened), true});
  return spans;
}

std::string PromptTemplate::Impl::render(const ChatRequest& request, std::chrono::system_clock::time_point now) const {
  std::string text;
  for (const ChatTemplate::Span& span : render_spans(request, now)) text += span.text;
  return text;
}

PromptTemplate::PromptTemplate(std::string source, SpecialTokens special_tokens)
    : impl_(std::make_unique<Impl>(std::move(source), std::move(special_tokens))) {}
PromptTemplate::PromptTemplate(PromptTemplate&&) noexcept = default;
PromptTemplate& PromptTemplate::operator=(PromptTemplate&&) noexcept = default;
PromptTemplate::~PromptTemplate() = default;

const std::string& PromptTemplate::source() const noexcept { return impl_->source; }

std::string PromptTemplate::render(const ChatRequest& request) const { return impl_->render(request); }

size_t PromptTemplate::generation_prompt_offset(const ChatRequest& request) const {
  const std::string whole = render(request);
  if (!request.add_generation_prompt) return whole.size();
  ChatRequest without = request;
  without.add_generation_prompt = false;
  std::string shorter;
  try {
    shorter = render(without);
  } catch (const Error&) {  // it may insist on having one
    return whole.size();
  }
  const auto end = std::ranges::mismatch(whole, shorter).in1;
  return static_cast<size_t>(end - whole.begin());
}

std::vector<TemplateFeature> PromptTemplate::features() const { return find_features(impl_->for_probes()); }

}  // namespace ingle
