#include "runtime/prefix_tree.h"

#include <algorithm>
#include <bit>

namespace ingle {

int32_t common_start(std::span<const int32_t> a, std::span<const int32_t> b) noexcept {
  const size_t shorter = std::min(a.size(), b.size());
  return static_cast<int32_t>(std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(shorter), b.begin()).first -
                              a.begin());
}

PrefixTree::PrefixTree(size_t groups, size_t nodes) : groups_(groups), buckets_(std::bit_ceil(2 * nodes + 2), kNoNode) {
  nodes_.reserve(nodes + 1);
  tokens_.reserve((nodes + 1) * kKvBlockPositions);
  blocks_.reserve((nodes + 1) * groups);
  make_node();
}

uint64_t PrefixTree::hash(int32_t parent, std::span<const int32_t> tokens) const noexcept {
  // The parent's hash stands for everything before. Multiply-xorshift per token; collisions cost a comparison.
  uint64_t h = at(parent).hash ^ 0x9e3779b97f4a7c15u;
  for (int32_t token : tokens) {
    h = (h ^ static_cast<uint32_t>(token)) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  return h;
}

int32_t PrefixTree::find(int32_t parent, std::span<const int32_t> tokens) const noexcept {
  const uint64_t h = hash(parent, tokens);
  for (int32_t node = buckets_[h & (buckets_.size() - 1)]; node != kNoNode; node = at(node).next_in_bucket) {
    if (at(node).hash == h && at(node).parent == parent && std::ranges::equal(this->tokens(node), tokens)) return node;
  }
  return kNoNode;
}

int32_t PrefixTree::make_node() {
  if (free_head_ != kNoNode) {
    const int32_t node = free_head_;
    free_head_ = at(node).next_in_bucket;
    at(node) = {};
    return node;
  }
  tokens_.resize(tokens_.size() + kKvBlockPositions);
  blocks_.resize(blocks_.size() + groups_, kNoBlock);
  nodes_.emplace_back();
  return static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t PrefixTree::add(int32_t parent, std::span<const int32_t> tokens) {
  const int32_t node = make_node();
  std::ranges::copy(tokens, tokens_.begin() + static_cast<ptrdiff_t>(node) * kKvBlockPositions);
  Node& n = at(node);
  n.hash = hash(parent, tokens);
  n.parent = parent;
  n.count = static_cast<int32_t>(tokens.size());
  n.after = at(parent).first_child;
  if (n.after != kNoNode) at(n.after).before = node;
  at(parent).first_child = node;
  if (n.count == kKvBlockPositions) {
    int32_t& bucket = buckets_[n.hash & (buckets_.size() - 1)];
    n.next_in_bucket = bucket;
    bucket = node;
  }
  ++live_;
  return node;
}

int32_t PrefixTree::anchor(uint64_t key) {
  if (key == 0) return kRoot;
  for (int32_t node = at(kRoot).first_child; node != kNoNode; node = at(node).after) {
    if (at(node).count == 0 && at(node).hash == key) return node;
  }
  const int32_t node = add(kRoot, {});
  at(node).hash = key;
  return node;
}

bool PrefixTree::complete(int32_t node) const noexcept { return at(node).held_blocks == static_cast<int32_t>(groups_); }

PrefixTree::Match PrefixTree::closest(int32_t parent, std::span<const int32_t> tokens) const noexcept {
  Match best;
  for (int32_t node = at(parent).first_child; node != kNoNode; node = at(node).after) {
    if (!complete(node)) continue;
    const int32_t length = common_start(this->tokens(node), tokens);
    if (best.node == kNoNode || length > best.length) best = {node, length};
  }
  return best;
}

void PrefixTree::set_block(int32_t node, size_t group, int32_t block) noexcept {
  int32_t& place = blocks_[static_cast<size_t>(node) * groups_ + group];
  at(node).held_blocks += (block != kNoBlock) - (place != kNoBlock);
  place = block;
  if (block == kNoBlock) prune(node);
}

void PrefixTree::drop_user(int32_t node) noexcept {
  --at(node).users;
  prune(node);
}

void PrefixTree::prune(int32_t node) noexcept {
  while (node != kRoot) {
    Node& n = at(node);
    if (n.users > 0 || n.held_blocks > 0 || n.first_child != kNoNode) return;
    if (n.count == kKvBlockPositions) {
      int32_t* link = &buckets_[n.hash & (buckets_.size() - 1)];
      while (*link != node) link = &at(*link).next_in_bucket;
      *link = n.next_in_bucket;
    }
    (n.before == kNoNode ? at(n.parent).first_child : at(n.before).after) = n.after;
    if (n.after != kNoNode) at(n.after).before = n.before;
    const int32_t parent = n.parent;
    n.next_in_bucket = free_head_;
    free_head_ = node;
    --live_;
    node = parent;
  }
}

}  // namespace ingle
