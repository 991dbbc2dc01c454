#include "apps/ingle/chat/line_joiner.h"

#include <utility>

namespace ingle::app {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

}  // namespace

std::optional<std::string> LineJoiner::add(std::string_view line) {
  if (!pending_ && line.starts_with(kQuotes)) {
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
