// The blocks of one layer group: who uses each, which are free, and which are kept only because somebody may want their
// content again.
//
//   free   ── take ──►  in use (references > 0)  ── last drop, unnamed ──►  free
//                          ▲          └── last drop, named ──►  kept, least recently used first
//                          └── add_reference ── kept ── take, when nothing is free ──► in use, content forgotten
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/reserved_memory.h"

namespace ingle {

constexpr int32_t kNoBlock = -1;
constexpr int32_t kNoNode = -1;

// Holds at most `capacity` blocks, whatever is asked of it. Nothing here allocates after construction.
class BlockPool {
 public:
  // Throws Error{kOutOfMemory}. A block's `block_bytes` lie together.
  BlockPool(int32_t capacity, size_t block_bytes);

  int32_t capacity() const noexcept { return static_cast<int32_t>(blocks_.size()); }
  int32_t available() const noexcept { return free_ + kept_; }  // blocks that take() could hand out
  int32_t in_use() const noexcept { return capacity() - available(); }
  size_t block_bytes() const noexcept { return block_bytes_; }
  std::byte* base() const noexcept { return memory_.data(); }

  struct Taken {
    int32_t block;
    int32_t forgotten;  // the node whose content was in it, or kNoNode
  };
  Taken take() noexcept;  // available() > 0; one reference, unnamed, content undefined
  void add_reference(int32_t block) noexcept;
  void drop_reference(int32_t block) noexcept;
  int32_t references(int32_t block) const noexcept { return at(block).references; }

  // The node of the prefix tree whose content the block holds.
  int32_t node(int32_t block) const noexcept { return at(block).node; }
  void set_node(int32_t block, int32_t node) noexcept;  // kNoNode: a block in nobody's use becomes free
  void copy(int32_t from, int32_t to) noexcept;

 private:
  struct Block {
    int32_t references = 0;
    int32_t node = kNoNode;
    int32_t before = kNoBlock, after = kNoBlock;  // in the list of kept blocks; `after` also in the free list
  };
  Block& at(int32_t block) noexcept { return blocks_[static_cast<size_t>(block)]; }
  const Block& at(int32_t block) const noexcept { return blocks_[static_cast<size_t>(block)]; }
  void unlink(int32_t block) noexcept;
  void push_free(int32_t block) noexcept;
  void push_kept(int32_t block) noexcept;

  std::vector<Block> blocks_;
  size_t block_bytes_;
  ReservedMemory memory_;
  int32_t free_head_ = kNoBlock, oldest_ = kNoBlock, newest_ = kNoBlock;
  int32_t free_ = 0, kept_ = 0;
};

}  // namespace ingle
