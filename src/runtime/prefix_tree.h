// What the cache holds, by content. A node stands for the tokens of one block after everything its ancestors stand for,
// so two sequences share a node exactly when their tokens are equal up to there: the hash only finds candidates, tokens
// decide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batch/kv_view.h"
#include "runtime/block_pool.h"

namespace ingle {

class PrefixTree {
 public:
  static constexpr int32_t kRoot = 0;  // the empty prefix

  // Room for `nodes` before anything is allocated again.
  PrefixTree(size_t groups, size_t nodes);

  // A full block's node under `parent`, or kNoNode.
  int32_t find(int32_t parent, std::span<const int32_t> tokens) const noexcept;
  // `tokens`: 1 to 64 of them; fewer than 64 make a node that find() does not see and that has no children.
  int32_t add(int32_t parent, std::span<const int32_t> tokens);

  // An empty prefix of its own, for what is computed in another way: the same for the same key, kRoot for 0. It stays
  // as any node does.
  int32_t anchor(uint64_t key);

  // The child of `parent` that shares the longest start with `tokens`, among those with a block in every group.
  struct Match {
    int32_t node = kNoNode;
    int32_t length = 0;
  };
  Match closest(int32_t parent, std::span<const int32_t> tokens) const noexcept;

  std::span<const int32_t> tokens(int32_t node) const noexcept {
    return {tokens_.data() + static_cast<size_t>(node) * kKvBlockPositions, static_cast<size_t>(at(node).count)};
  }
  int32_t block(int32_t node, size_t group) const noexcept {
    return blocks_[static_cast<size_t>(node) * groups_ + group];
  }
  bool complete(int32_t node) const noexcept;  // a block in every group

  // A node stays as long as it has a block, a child or a user (a sequence that runs through it).
  void set_block(int32_t node, size_t group, int32_t block) noexcept;  // kNoBlock: forgets, may remove the node
  void add_user(int32_t node) noexcept { ++at(node).users; }
  void drop_user(int32_t node) noexcept;

  size_t size() const noexcept { return live_; }  // nodes, without the root

 private:
  struct Node {
    uint64_t hash = 0;
    int32_t parent = kNoNode;
    int32_t first_child = kNoNode, before = kNoNode, after = kNoNode;  // siblings
    int32_t next_in_bucket = kNoNode;                                  // also the free list
    int32_t count = 0, users = 0, held_blocks = 0;
  };
  Node& at(int32_t node) noexcept { return nodes_[static_cast<size_t>(node)]; }
  const Node& at(int32_t node) const noexcept { return nodes_[static_cast<size_t>(node)]; }
  uint64_t hash(int32_t parent, std::span<const int32_t> tokens) const noexcept;
  int32_t make_node();
  void prune(int32_t node) noexcept;

  size_t groups_;
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;   // [node, 64]
  std::vector<int32_t> blocks_;   // [node, group]
  std::vector<int32_t> buckets_;  // a power of two
  int32_t free_head_ = kNoNode;
  size_t live_ = 0;
};

// How many leading tokens are equal.
int32_t common_start(std::span<const int32_t> a, std::span<const int32_t> b) noexcept;

}  // namespace ingle
