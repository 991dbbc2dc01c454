// Any bytes are a conversation or an Error; a conversation is the same after saving and loading. Of what is a JSON
// object the members are found, each with its own text.
#include <boost/json.hpp>
#include <cstdlib>
#include <string_view>

#include "apps/ingle/chat/conversation.h"
#include "apps/ingle/json_reading.h"
#include "ingle/error.h"

namespace {

void check_members(std::string_view text) {
  using namespace ingle::app;
  if (!is_json(text)) return;
  const boost::json::value root = parse_json(text, "input");
  if (!root.is_object()) return;
  boost::json::object again;
  for (const auto& [key, value] : json_members(text)) again[key] = parse_json(value, "member");
  if (again != root.get_object()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle::app;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_members(text);
  Conversation first;
  try {
    first = parse_conversation(text, "input");
  } catch (const ingle::Error&) {
    return 0;
  }
  const Conversation second = parse_conversation(to_text(first), "saved");
  if (second.system != first.system || second.messages.size() != first.messages.size()) std::abort();
  for (size_t i = 0; i < first.messages.size(); ++i)
    if (second.messages[i].role != first.messages[i].role || second.messages[i].content != first.messages[i].content)
      std::abort();
  return 0;
}
