// Any bytes are a conversation or an Error; a conversation is the same after saving and loading.
#include <cstdlib>
#include <string_view>

#include "apps/ingle/chat/conversation.h"
#include "ingle/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle::app;
  Conversation first;
  try {
    first = parse_conversation({reinterpret_cast<const char*>(data), size}, "input");
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
