// What was said so far: kept as JSON by /save, read again by /load.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/model.h"

namespace ingle::app {

struct Conversation {
  std::string system;                 // empty: none
  std::vector<ChatMessage> messages;  // user and assistant in turn

  ChatRequest request() const;  // with the system message first, and the beginning of an answer last
  bool undo();                  // takes back the last exchange; false when there is none
};

// {"format": "ingle-conversation", "version": 1, "system": "...", "messages": [{"role": "user", "content": "..."},
// ...]}; an answer whose model thought has "reasoning" too.
std::string to_text(const Conversation& conversation);

// Throws Error{kInvalidFile} that names `name` and what is wrong: not JSON (with the line), no conversation, a role
// other than user and assistant.
Conversation parse_conversation(std::string_view text, std::string_view name);

}  // namespace ingle::app
