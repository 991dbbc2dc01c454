// The inside of a PromptTemplate.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ingle/prompt_template.h"
#include "text/chat_template.h"

namespace ingle {

struct PromptTemplate::Impl {
  Impl(std::string source, SpecialTokens special_tokens, TemplateLimits limits = {});

  // The same within limits that fit small conversations: finding out what a template does renders dozens of them, and
  // even a hostile one must not take longer than a few seconds over all.
  Impl for_probes() const;

  // Throws what PromptTemplate::render does.
  std::vector<ChatTemplate::Span> render_spans(
      const ChatRequest& request, std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) const;
  std::string render(const ChatRequest& request,
                     std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) const;

  std::string source;
  SpecialTokens special_tokens;
  ChatTemplate parsed;
};

// What the template makes of small conversations (src/runtime/template_features.cpp).
std::vector<TemplateFeature> find_features(const PromptTemplate::Impl& prompt_template);

}  // namespace ingle
