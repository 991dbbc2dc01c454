// Leftmost matches, of those the longest, are found first; then each one is looked at.
#include "text/hf_added_tokens.h"

#include "text/utf8.h"
#include "text/word_characters.h"

namespace ingle {
namespace {

std::vector<SpecialToken> to_match(const std::vector<HfAddedToken>& tokens, const std::vector<std::string>& texts) {
  std::vector<SpecialToken> out;
  for (size_t i = 0; i < tokens.size(); ++i) out.push_back({.text = texts[i], .id = tokens[i].id});
  return out;
}

bool starts_with_word(std::string_view text) { return !text.empty() && is_word_character(decode_utf8(text).code); }

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t start = text.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return is_word_character(decode_utf8(text.substr(start)).code);
}

}  // namespace

HfAddedTokens::HfAddedTokens(std::vector<HfAddedToken> tokens, const std::vector<std::string>& texts)
    : tokens_(std::move(tokens)), matcher_(to_match(tokens_, texts)) {}

void HfAddedTokens::split(std::string_view text, bool parse_special, std::vector<TextFragment>& out) const {
  size_t position = 0;  // of what is not yet given away
  for (const SpecialTokenMatcher::Match& match : matcher_.matches(text)) {
    const HfAddedToken& token = tokens_[match.index];
    if (token.special && !parse_special) continue;
    // It lies in white space that the match before took along.
    if (match.begin < position) continue;
    const std::string_view before = text.substr(0, match.begin), after = text.substr(match.begin + match.size);
    if (token.single_word && (ends_with_word(before) || starts_with_word(after))) continue;
    std::string_view between = text.substr(position, match.begin - position);
    if (token.strip_left) between = trim_right(between);
    if (!between.empty()) out.push_back({between});
    out.push_back({{}, token.id});
    position = text.size() - (token.strip_right ? trim_left(after) : after).size();
  }
  if (position < text.size()) out.push_back({text.substr(position)});
}

}  // namespace ingle
