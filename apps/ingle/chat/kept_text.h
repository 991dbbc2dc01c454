// What `run` keeps with a saved state besides the sequence: a conversation, or where a raw text stands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/ingle/chat/conversation.h"

namespace ingle::app {

struct KeptText {
  std::optional<Conversation> conversation;  // none: a raw text
  std::vector<TokenId> unread = {};          // the end of a raw text that the model has not read: its last token
};

std::string to_text(const KeptText& kept);

// Throws what parse_conversation() does.
KeptText parse_kept_text(std::string_view text, std::string_view name);

}  // namespace ingle::app
