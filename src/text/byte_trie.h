// A trie over bytes: which of many texts stand at the front of another text, in time linear in the longest of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ingle {

// Immutable after construction; copies what it needs. Nodes lie breadth first, so a node's children are neighbours.
class ByteTrie {
 public:
  struct Entry {
    std::string_view text;  // not empty
    int32_t value;          // not negative
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = 0;  // no child: nobody's child is the root

  ByteTrie() : ByteTrie(std::vector<Entry>{}) {}
  // Of entries with the same text the first one counts.
  explicit ByteTrie(std::vector<Entry> entries);

  uint32_t child(uint32_t node, unsigned char byte) const noexcept {
    if (node == kRoot) return from_root_[byte];
    const Node& n = nodes_[node];
    const unsigned char* labels = labels_.data() + n.first_child;
    uint32_t i = 0, end = n.children;
    while (end - i > 8) {
      const uint32_t middle = (i + end) / 2;
      (labels[middle] <= byte ? i : end) = middle;
    }
    for (; i < end; ++i) {
      if (labels[i] == byte) return n.first_child + i;
    }
    return kNone;
  }
  int32_t value(uint32_t node) const noexcept { return nodes_[node].value; }  // -1: no entry ends here

  // For automata over the trie: nodes are numbered from the root down, level by level.
  size_t nodes() const noexcept { return nodes_.size(); }
  // visit(child, byte) for every child.
  template <class Visit>
  void children(uint32_t node, Visit&& visit) const {
    for (uint32_t i = 0; i < nodes_[node].children; ++i) {
      visit(nodes_[node].first_child + i, labels_[nodes_[node].first_child + i]);
    }
  }

  // visit(length, value) for every entry at the front of `text`, the shortest first.
  template <class Visit>
  void prefixes(std::string_view text, Visit&& visit) const {
    uint32_t node = kRoot;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == kNone) return;
      if (value(node) >= 0) visit(i + 1, value(node));
    }
  }

  struct Match {
    size_t length = 0;  // 0: no entry is at the front
    int32_t value = -1;
  };
  Match longest(std::string_view text) const {
    Match match;
    prefixes(text, [&](size_t length, int32_t value) { match = {length, value}; });
    return match;
  }

 private:
  struct Node {
    uint32_t first_child = 0;
    uint32_t children = 0;
    int32_t value = -1;
  };

  std::vector<Node> nodes_;
  std::vector<unsigned char> labels_;  // the byte that leads to a node, by node
  uint32_t from_root_[256] = {};
};

}  // namespace ingle
