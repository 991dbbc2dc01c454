// An Aho-Corasick automaton over the reversed tokens reads the text from right to left. At each byte the longest token
// it has just completed is the longest token that *starts* there, so one backward pass finds, for every place, what
// begins there, and a forward walk over those finds picks leftmost-longest. A forward automaton would have to read
// again what lies behind a match, which crafted tokens make quadratic.
#include "text/special_tokens.h"

#include <string>

#include "text/unicode.h"
#include "text/utf8.h"

namespace ingle {
namespace {

// The tokens from back to front; `pool` holds their bytes.
std::vector<ByteTrie::Entry> reversed(const std::vector<SpecialToken>& tokens, std::string& pool) {
  size_t bytes = 0;
  for (const SpecialToken& token : tokens) bytes += token.text.size();
  pool.reserve(bytes);  // views into it must stay
  std::vector<ByteTrie::Entry> entries;
  entries.reserve(tokens.size());
  for (const SpecialToken& token : tokens) {
    const size_t begin = pool.size();
    pool.append(token.text.rbegin(), token.text.rend());
    entries.push_back({std::string_view(pool).substr(begin), static_cast<int32_t>(entries.size())});
  }
  return entries;
}

}  // namespace

std::string_view trim_left(std::string_view text) noexcept {
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    if (!step.valid() || !is_white_space(step.code)) break;
    text.remove_prefix(step.length);
  }
  return text;
}

std::string_view trim_right(std::string_view text) noexcept {
  while (!text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && text.size() - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    const Utf8Step step = decode_utf8(text.substr(start));
    if (!step.valid() || step.length != text.size() - start || !is_white_space(step.code)) break;
    text.remove_suffix(step.length);
  }
  return text;
}

SpecialTokenMatcher::SpecialTokenMatcher(const std::vector<SpecialToken>& tokens) {
  if (tokens.empty()) return;
  std::string pool;
  trie_ = ByteTrie(reversed(tokens, pool));
  for (const SpecialToken& token : tokens) {
    tokens_.push_back({token.id, token.text.size(), token.strip_left, token.strip_right});
  }
  // A parent has a smaller number than its children, so what its links say is there when they are made.
  nodes_.resize(trie_.nodes());
  for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].token = trie_.value(node);
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    trie_.children(node, [&](uint32_t child, unsigned char byte) {
      if (node == ByteTrie::kRoot) return;  // the root's children fail to the root
      nodes_[child].fail = step(nodes_[node].fail, byte);
      if (nodes_[child].token < 0) nodes_[child].token = nodes_[nodes_[child].fail].token;
    });
  }
}

uint32_t SpecialTokenMatcher::step(uint32_t node, unsigned char byte) const noexcept {
  while (node != ByteTrie::kRoot) {
    if (const uint32_t child = trie_.child(node, byte); child != ByteTrie::kNone) return child;
    node = nodes_[node].fail;
  }
  return trie_.child(ByteTrie::kRoot, byte);  // or the root, which has the same number as none
}

// For every place where tokens start, the longest of them; from right to left.
std::vector<SpecialTokenMatcher::Find> SpecialTokenMatcher::finds(std::string_view text) const {
  std::vector<Find> finds;
  if (tokens_.empty()) return finds;
  uint32_t node = 0;
  for (size_t i = text.size(); i-- > 0;) {
    node = step(node, static_cast<unsigned char>(text[i]));
    if (nodes_[node].token >= 0) finds.push_back({i, nodes_[node].token});
  }
  return finds;
}

std::vector<SpecialTokenMatcher::Match> SpecialTokenMatcher::matches(std::string_view text) const {
  const std::vector<Find> found = finds(text);
  std::vector<Match> matches;
  size_t position = 0;
  for (auto find = found.rbegin(); find != found.rend(); ++find) {
    if (find->begin < position) continue;
    const Entry& token = tokens_[static_cast<size_t>(find->token)];
    matches.push_back({find->begin, token.size, static_cast<uint32_t>(find->token)});
    position = find->begin + token.size;
  }
  return matches;
}

std::vector<TextFragment> SpecialTokenMatcher::split(std::string_view text) const {
  const std::vector<Find> found = finds(text);
  std::vector<TextFragment> fragments;
  size_t position = 0;  // of what is not yet given away
  for (auto find = found.rbegin(); find != found.rend(); ++find) {
    if (find->begin < position) continue;
    const Entry& token = tokens_[static_cast<size_t>(find->token)];
    std::string_view before = text.substr(position, find->begin - position);
    if (token.strip_left) before = trim_right(before);
    if (!before.empty()) fragments.push_back({before});
    fragments.push_back({{}, token.id});
    position = find->begin + token.size;
    if (token.strip_right) position = text.size() - trim_left(text.substr(position)).size();
  }
  if (position < text.size()) fragments.push_back({text.substr(position)});
  return fragments;
}

}  // namespace ingle
