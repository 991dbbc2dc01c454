// How a model's answers are to be read, from its template and vocabulary.
#include <algorithm>
#include <boost/json.hpp>

#include "ingle/model.h"
#include "runtime/model_impl.h"
#include "runtime/prompt_template_impl.h"
#include "text/answer_format.h"
#include "text/json_document.h"

namespace ingle {
namespace {

boost::json::object token_variables(const PromptTemplate::SpecialTokens& tokens) {
  boost::json::object variables;
  for (const auto& [name, text] : tokens) variables[name] = text;
  return variables;
}

}  // namespace

AnswerFormat PromptTemplate::answer_format(std::span<const std::string> vocabulary) const {
  return find_answer_format(impl_->for_probes().parsed, impl_->source, token_variables(impl_->special_tokens),
                            vocabulary);
}

ThinkingSwitch PromptTemplate::thinking_switch() const {
  return find_thinking_switch(impl_->for_probes().parsed, token_variables(impl_->special_tokens));
}

AnswerParser::Options PromptTemplate::answer_options(const ChatRequest& request) const {
  AnswerParser::Options options{.calls = false};
  const std::vector<ChatTemplate::Span> spans = impl_->render_spans(request);
  // What a message says has no say in where the answer begins.
  for (auto span = spans.rbegin(); span != spans.rend() && span->trusted; ++span)
    options.prompt_end.insert(0, span->text);
  for (const auto& [name, value] : request.arguments)
    if (name == "tools") options.tools = value;
  if (options.tools.empty()) return options;
  const JsonDocument tools(options.tools, "tools");  // the rendering found it to be JSON
  options.calls = tools.root().is_array() && tools.root().size() > 0;
  return options;
}

AnswerFormat Model::answer_format() const {
  const Tokenizer& tokenizer = *impl_->tokenizer;
  std::vector<std::string> marks;
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const TokenKind kind = tokenizer.kind(id);
    if (kind == TokenKind::kControl || kind == TokenKind::kUserDefined) marks.push_back(tokenizer.text(id));
  }
  return prompt_template().answer_format(marks);
}

std::vector<TokenId> Model::mark_tokens(const AnswerFormat& format) const {
  const Tokenizer& tokenizer = *impl_->tokenizer;
  const std::vector<std::string> marks = format.marks();
  std::vector<TokenId> tokens;
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const std::string& text = tokenizer.text(id);
    const auto within = [&](const std::string& mark) { return mark.find(text) != mark.npos; };
    if (tokenizer.kind(id) == TokenKind::kControl && !text.empty() && std::ranges::any_of(marks, within))
      tokens.push_back(id);
  }
  return tokens;
}

}  // namespace ingle
