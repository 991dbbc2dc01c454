// An Aho-Corasick automaton over the reversed tokens reads the text from right to left. At each byte the longest token
// it has just completed is the longest token that *starts* there, so one backward pass finds, for every place, what
// begins there, and a forward walk over those finds picks leftmost-longest. A forward automaton would have to read
// again what lies behind a match, which crafted tokens make quadratic.
#include "text/special_tokens.h"

#include <algorithm>
#include <numeric>

#include "text/unicode.h"
#include "text/utf8.h"

namespace ingle {
namespace {

size_t total_bytes(const std::vector<SpecialToken>& tokens) {
  size_t bytes = 0;
  for (const SpecialToken& token : tokens) bytes += token.text.size();
  return bytes;
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

SpecialTokenMatcher::SpecialTokenMatcher(const std::vector<SpecialToken>& tokens) : children_(total_bytes(tokens)) {
  nodes_.emplace_back();
  struct Edge {
    uint32_t parent, depth;
    unsigned char byte;
  };
  std::vector<Edge> edges{{}};  // how each node was reached
  for (const SpecialToken& token : tokens) {
    uint32_t node = 0;
    uint32_t depth = 0;
    for (auto it = token.text.rbegin(); it != token.text.rend(); ++it) {
      const auto byte = static_cast<unsigned char>(*it);
      ++depth;
      const auto next = static_cast<uint32_t>(nodes_.size());
      if (children_.insert(static_cast<int32_t>(node), byte, next)) {
        nodes_.emplace_back();
        edges.push_back({node, depth, byte});
        if (node == 0) root_[byte] = next;
        node = next;
      } else {
        node = *children_.find(static_cast<int32_t>(node), byte);
      }
    }
    if (nodes_[node].token >= 0) continue;  // the same text twice: the first one counts
    nodes_[node].token = static_cast<int32_t>(tokens_.size());
    const auto index = static_cast<uint32_t>(&token - tokens.data());
    tokens_.push_back({token.id, index, token.text.size(), token.strip_left, token.strip_right});
  }

  // Failure links from shallow to deep.
  std::vector<uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return edges[a].depth < edges[b].depth; });
  for (uint32_t node : order) {
    if (edges[node].depth < 2) continue;  // the root and its children fail to the root
    nodes_[node].fail = step(nodes_[edges[node].parent].fail, edges[node].byte);
    if (nodes_[node].token < 0) nodes_[node].token = nodes_[nodes_[node].fail].token;
  }
}

uint32_t SpecialTokenMatcher::step(uint32_t node, unsigned char byte) const noexcept {
  while (node != 0) {
    if (const uint32_t* child = children_.find(static_cast<int32_t>(node), byte)) return *child;
    node = nodes_[node].fail;
  }
  return root_[byte];
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
    matches.push_back({find->begin, token.size, token.index});
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
