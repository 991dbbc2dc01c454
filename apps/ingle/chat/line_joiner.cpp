#include "apps/ingle/chat/line_joiner.h"

#include <utility>

namespace ingle::app {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

// Lines that come together were pasted: they are a message as they are, unless all of them are one block.
bool opens_block(std::string_view text) {
  if (!text.starts_with(kQuotes)) return false;
  const std::string_view rest = text.substr(kQuotes.size());
  return rest.find('\n') == rest.npos ||
         (rest.ends_with(kQuotes) && rest.find(kQuotes) == rest.size() - kQuotes.size());
}

}  // namespace

std::optional<std::string> LineJoiner::add(std::string_view line) {
  if (!pending_ && opens_block(line)) {
    block_ = true;
    line.remove_prefix(kQuotes.size());
    if (line.empty()) {  // a block that begins on the next line
      pending_ = true;
      return std::nullopt;
    }
  } else if (pending_ && !(block_ && text_.empty())) {
    text_ += '\n';
  }
  const std::string_view end = block_ ? kQuotes : "\\";
  const bool closes = line.ends_with(end);
  if (closes) line.remove_suffix(end.size());
  text_ += line;
  pending_ = block_ ? !closes : closes;
  if (pending_) return std::nullopt;
  if (block_ && text_.ends_with('\n')) text_.pop_back();  // the line break before closing quotes on a line of their own
  std::string message = std::exchange(text_, {});
  reset();
  return message;
}

void LineJoiner::reset() {
  text_.clear();
  pending_ = block_ = false;
}

}  // namespace ingle::app
