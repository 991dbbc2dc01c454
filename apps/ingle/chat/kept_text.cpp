#include "apps/ingle/chat/kept_text.h"

#include <boost/json.hpp>
#include <limits>

#include "apps/ingle/fail.h"
#include "apps/ingle/json_reading.h"

namespace ingle::app {
namespace {

constexpr std::string_view kFormat = "ingle-raw-text";
constexpr int64_t kVersion = 1;

}  // namespace

std::string to_text(const KeptText& kept) {
  if (kept.conversation) return to_text(*kept.conversation);
  return boost::json::serialize(boost::json::value{
      {"format", kFormat},
      {"version", kVersion},
      {"unread", boost::json::array(kept.unread.begin(), kept.unread.end())},
  });
}

KeptText parse_kept_text(std::string_view text, std::string_view name) {
  const boost::json::value root = parse_json(text, name);
  const boost::json::object* object = root.if_object();
  const boost::json::value* format = object ? object->if_contains("format") : nullptr;
  if (!format || *format != boost::json::value(kFormat)) return {.conversation = parse_conversation(text, name)};
  const boost::json::value* version = object->if_contains("version");
  if (!version || *version != boost::json::value(kVersion))
    fail(ErrorCode::kUnsupported, "{}: raw text of another version than {}", name, kVersion);
  const boost::json::value* unread = object->if_contains("unread");
  if (!unread || !unread->is_array()) fail(ErrorCode::kInvalidFile, "{}: its raw text has no \"unread\"", name);
  KeptText kept{.conversation = std::nullopt};
  for (const boost::json::value& token : unread->get_array()) {
    if (!token.is_int64() || token.get_int64() < 0 || token.get_int64() > std::numeric_limits<TokenId>::max())
      fail(ErrorCode::kInvalidFile, "{}: its raw text has {} for a token", name, boost::json::serialize(token));
    kept.unread.push_back(static_cast<TokenId>(token.get_int64()));
  }
  return kept;
}

}  // namespace ingle::app
