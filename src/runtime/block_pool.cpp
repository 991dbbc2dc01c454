#include "runtime/block_pool.h"

#include <cstring>

namespace ingle {

BlockPool::BlockPool(int32_t capacity, size_t block_bytes)
    : blocks_(static_cast<size_t>(capacity)),
      block_bytes_(block_bytes),
      memory_(static_cast<size_t>(capacity) * block_bytes, "key/value cache") {
  for (int32_t block = capacity; block-- > 0;) push_free(block);  // the lowest is handed out first
}

BlockPool::Taken BlockPool::take() noexcept {
  Taken taken{free_head_, kNoNode};
  if (free_head_ != kNoBlock) {
    free_head_ = at(taken.block).after;
    --free_;
  } else {
    taken.block = oldest_;
    taken.forgotten = at(oldest_).node;
    unlink(taken.block);
  }
  at(taken.block) = {.references = 1};
  return taken;
}

void BlockPool::add_reference(int32_t block) noexcept {
  if (at(block).references++ == 0) unlink(block);
}

void BlockPool::drop_reference(int32_t block) noexcept {
  if (--at(block).references > 0) return;
  if (at(block).node == kNoNode) {
    push_free(block);
  } else {
    push_kept(block);
  }
}

void BlockPool::set_node(int32_t block, int32_t node) noexcept {
  at(block).node = node;
  if (node == kNoNode && at(block).references == 0) {
    unlink(block);
    push_free(block);
  }
}

void BlockPool::copy(int32_t from, int32_t to) noexcept {
  std::memcpy(base() + static_cast<size_t>(to) * block_bytes_, base() + static_cast<size_t>(from) * block_bytes_,
              block_bytes_);
}

void BlockPool::unlink(int32_t block) noexcept {
  Block& b = at(block);
  (b.before == kNoBlock ? oldest_ : at(b.before).after) = b.after;
  (b.after == kNoBlock ? newest_ : at(b.after).before) = b.before;
  b.before = b.after = kNoBlock;
  --kept_;
}

void BlockPool::push_free(int32_t block) noexcept {
  at(block).before = kNoBlock;
  at(block).after = free_head_;
  free_head_ = block;
  ++free_;
}

void BlockPool::push_kept(int32_t block) noexcept {
  at(block).before = newest_;
  at(block).after = kNoBlock;
  (newest_ == kNoBlock ? oldest_ : at(newest_).after) = block;
  newest_ = block;
  ++kept_;
}

}  // namespace ingle
