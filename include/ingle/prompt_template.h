// A chat template: the text a model reads for a conversation. Needs no model, only the template's source.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/answer.h"
#include "ingle/error.h"

namespace ingle {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  std::string reasoning = {};  // of an assistant, before its content; the template decides what becomes of it
};

struct ChatRequest {
  std::vector<ChatMessage> messages;
  // In place of `messages`, when not empty: a JSON array of objects as chat APIs have them, with tool calls, parts,
  // reasoning, whatever the template reads.
  std::string messages_json = {};
  bool add_generation_prompt = true;
  std::vector<std::pair<std::string, std::string>> arguments;  // further template variables ("tools"); values are JSON
};

// One thing that templates differ in, found out by rendering small conversations.
struct TemplateFeature {
  std::string name;    // "system message"
  std::string answer;  // "yes", "no", "refused", or what it is
  std::string detail;  // the template's own words where it refuses, an example where that says more; may be empty
};

// What a file has of templates.
struct TemplateSource {
  std::string text;                                                 // empty: the file has none
  std::vector<std::pair<std::string, std::string>> special_tokens;  // {"bos_token", "<s>"}, ...
  std::vector<std::string> names;  // of further templates in the file ("tool_use"); read_template takes them as `name`
};

// Of a GGUF file, of a tokenizer_config.json, or of a folder that has one (and a chat_template.jinja or .json, maybe,
// and more in additional_chat_templates/); every other file is a template itself. Throws Error: kNotFound (the file, or
// `name` in it), kIo, kInvalidFile.
TemplateSource read_template(const std::filesystem::path& path, std::string_view name = {});

// Immutable and thread-safe.
class PromptTemplate {
 public:
  using SpecialTokens = std::vector<std::pair<std::string, std::string>>;  // {"bos_token", "<s>"}, ...

  // An empty source stands for ChatML. Throws Error{kInvalidFile} with the template's line and what is wrong.
  explicit PromptTemplate(std::string source, SpecialTokens special_tokens = {});
  PromptTemplate(PromptTemplate&&) noexcept;
  PromptTemplate& operator=(PromptTemplate&&) noexcept;
  ~PromptTemplate();

  const std::string& source() const noexcept;

  // Throws Error: kInvalidArgument with the template's own complaint or "line N: what is wrong" (an argument or message
  // that is not JSON, too); kOutOfMemory for a limit.
  std::string render(const ChatRequest& request) const;

  // Where in render(request) the generation prompt starts: the end of what the same conversation gives without one.
  // The text's size when there is none.
  size_t generation_prompt_offset(const ChatRequest& request) const;

  std::vector<TemplateFeature> features() const;

  // How this template's model writes its answers, found out by rendering small conversations. `vocabulary`: texts of
  // the model's control tokens, if known: some templates leave it to the model to know its marks.
  AnswerFormat answer_format(std::span<const std::string> vocabulary = {}) const;
  ThinkingSwitch thinking_switch() const;
  // For the parser of the answer to `request`: where the prompt leaves the model, and which tools it has.
  AnswerParser::Options answer_options(const ChatRequest& request) const;

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }  // the library's own

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
