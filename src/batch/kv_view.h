// The key/value cache of one layer as an op sees it: fixed-size blocks addressed by position through a table per
// sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/format.h"

namespace ingle {

constexpr int32_t kKvBlockPositions = 64;

// How one block of one layer lies in memory: kv_heads x (K part, V part), each part for 64 positions. The byte layout
// inside a part is the backend's (Backend::kv_layout fills the sizes); copying a block is copying its bytes.
struct KvLayout {
  DType k_type = DType::kF16;
  DType v_type = DType::kF16;
  int64_t kv_heads = 0;
  int64_t k_dim = 0;  // head size of K
  int64_t v_dim = 0;
  size_t k_bytes = 0;  // of one head's K part, a multiple of 64
  size_t v_bytes = 0;
  size_t block_bytes() const noexcept { return static_cast<size_t>(kv_heads) * (k_bytes + v_bytes); }
};

// One layer's blocks for the sequences of one batch. `tables[slot][position / 64]` is a block number, -1 where a window
// has passed. The blocks of the rows a step appends are already there and are not shared with anybody.
struct KvLayer {
  KvLayout layout;
  std::byte* base = nullptr;  // block b of this layer starts at base + b * block_stride
  size_t block_stride = 0;
  std::span<const std::span<const int32_t>> tables;

  std::byte* k(int32_t block, int64_t head) const noexcept {
    return base + static_cast<size_t>(block) * block_stride +
           static_cast<size_t>(head) * (layout.k_bytes + layout.v_bytes);
  }
  std::byte* v(int32_t block, int64_t head) const noexcept { return k(block, head) + layout.k_bytes; }
};

}  // namespace ingle
