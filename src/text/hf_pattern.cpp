// A literal is found without an expression.
#include "text/hf_pattern.h"

#include "base/error.h"

namespace ingle {

HfPattern::HfPattern(std::string text, bool is_regex) : text_(std::move(text)), is_regex_(is_regex) {
  if (is_regex_ || text_.empty()) regex_.emplace(text_);
}

HfPattern HfPattern::read(JsonValue json) {
  json.allow_only({"String", "Regex"});
  if (json.size() != 1) json.fail("neither \"String\" nor \"Regex\", or both");
  const JsonValue pattern = *json.members().begin();
  try {
    return HfPattern(std::string(pattern.string()), pattern.key() == "Regex");
  } catch (const Error& error) {
    if (!std::string_view(error.what()).starts_with("regular expression")) throw;
    if (error.code() == ErrorCode::kUnsupported) pattern.unsupported(error.what());
    pattern.fail(error.what());
  }
}

void HfPattern::find_all(std::string_view text, FileRegex::Scratch& scratch, std::vector<TextRange>& matches) const {
  if (regex_) return regex_->find_all(text, scratch, matches);
  for (size_t i = text.find(text_); i != std::string_view::npos; i = text.find(text_, i + text_.size())) {
    matches.push_back({i, i + text_.size()});
  }
}

void HfPattern::replace(std::string& text, std::string_view with, FileRegex::Scratch& scratch) const {
  std::vector<TextRange> matches;
  find_all(text, scratch, matches);
  if (matches.empty()) return;
  const size_t most = (size_t{1} << 20) + 64 * text.size();
  std::string out;
  size_t position = 0;
  for (const TextRange& match : matches) {
    out.append(text, position, match.begin - position).append(with);
    position = match.end;
    if (out.size() > most) {
      throw_error(ErrorCode::kInvalidArgument, "text: replacing made it longer than {} bytes", most);
    }
  }
  out.append(text, position);
  text = std::move(out);
}

}  // namespace ingle
