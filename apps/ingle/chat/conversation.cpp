#include "apps/ingle/chat/conversation.h"

#include <boost/json.hpp>

#include "apps/ingle/fail.h"
#include "apps/ingle/json_reading.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

constexpr std::string_view kFormat = "ingle-conversation";
constexpr int64_t kVersion = 1;

std::string string_of(const boost::json::object& object, std::string_view key, std::string_view name) {
  const boost::json::value* value = object.if_contains(key);
  if (!value || !value->is_string())
    fail(ErrorCode::kInvalidFile, "{}: not a saved conversation: no text \"{}\"", name, key);
  return std::string(value->get_string());
}

}  // namespace

ChatRequest Conversation::request() const {
  ChatRequest request;
  if (!system.empty()) request.messages.push_back({"system", system});
  request.messages.insert(request.messages.end(), messages.begin(), messages.end());
  return request;
}

bool Conversation::undo() {
  if (messages.empty()) return false;
  if (messages.back().role == "assistant") messages.pop_back();
  if (!messages.empty() && messages.back().role == "user") messages.pop_back();
  return true;
}

std::string to_text(const Conversation& conversation) {
  const auto quoted = [](std::string_view text) {
    return boost::json::serialize(boost::json::value(to_valid_utf8(text)));
  };
  // One message a line: readable, and kind to diff.
  std::string text = fmt::format("{{\"format\": \"{}\", \"version\": {}, \"system\": {}, \"messages\": [", kFormat,
                                 kVersion, quoted(conversation.system));
  for (size_t i = 0; i < conversation.messages.size(); ++i) {
    const ChatMessage& message = conversation.messages[i];
    text += fmt::format("{}\n  {{\"role\": {}, \"content\": {}", i > 0 ? "," : "", quoted(message.role),
                        quoted(message.content));
    if (!message.reasoning.empty()) text += fmt::format(", \"reasoning\": {}", quoted(message.reasoning));
    text += '}';
  }
  return text + "\n]}\n";
}

Conversation parse_conversation(std::string_view text, std::string_view name) {
  const boost::json::value root = parse_json(text, name);
  const boost::json::object* object = root.if_object();
  if (!object) fail(ErrorCode::kInvalidFile, "{}: not a saved conversation: no JSON object", name);
  if (string_of(*object, "format", name) != kFormat)
    fail(ErrorCode::kInvalidFile, "{}: not a saved conversation: format is not {}", name, kFormat);
  const boost::json::value* version = object->if_contains("version");
  if (!version || !version->is_int64() || version->get_int64() != kVersion)
    fail(ErrorCode::kUnsupported, "{}: conversation of another version than {}", name, kVersion);
  Conversation conversation;
  conversation.system = string_of(*object, "system", name);
  const boost::json::value* messages = object->if_contains("messages");
  if (!messages || !messages->is_array())
    fail(ErrorCode::kInvalidFile, "{}: not a saved conversation: no \"messages\"", name);
  for (const boost::json::value& entry : messages->get_array()) {
    const boost::json::object* message = entry.if_object();
    if (!message) fail(ErrorCode::kInvalidFile, "{}: message {} is no object", name, conversation.messages.size());
    ChatMessage parsed{string_of(*message, "role", name), string_of(*message, "content", name)};
    if (message->contains("reasoning")) parsed.reasoning = string_of(*message, "reasoning", name);
    if (parsed.role != "user" && parsed.role != "assistant")
      fail(ErrorCode::kInvalidFile, "{}: message {} has the role '{}'; user and assistant are known", name,
           conversation.messages.size(), parsed.role);
    conversation.messages.push_back(std::move(parsed));
  }
  return conversation;
}

}  // namespace ingle::app
