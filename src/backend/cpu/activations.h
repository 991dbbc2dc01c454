// Rows quantised for the int8 product (layout: kernels.h), and the memo that keeps them with a tensor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels.h"

namespace ingle::cpu {

// With two terms a number is d * hi + d / 254 * lo, and a token is two rows here: hi, then lo. Their products are added
// at the end, so kernels know nothing of terms.
struct QuantizedRows {
  uint8_t* data = nullptr;
  int64_t rows = 0, blocks = 0;  // rows: tokens x terms
  int terms = 1;
  int tile = 0;  // rows of a full group, a multiple of terms

  QuantizedRows() = default;
  QuantizedRows(int64_t tokens, int64_t columns, bool fine, int tile_tokens)
      : rows(tokens * (fine ? 2 : 1)),
        blocks(columns / 32),
        terms(fine ? 2 : 1),
        tile(rows <= kMaxGemvTokens ? static_cast<int>(rows) : tile_tokens) {}
  int64_t groups() const noexcept { return (rows + tile - 1) / tile; }
  int group_tokens(int64_t group) const noexcept {
    return static_cast<int>(std::min<int64_t>(tile, rows - group * tile));
  }
  // Block `block` of group `group`.
  uint8_t* at(int64_t group, int64_t block) const noexcept {
    return data + kActivationBytes * (group * tile * blocks + block * group_tokens(group));
  }
  size_t bytes() const noexcept { return static_cast<size_t>(kActivationBytes * rows * blocks); }
};

// What Tensor::memo points to.
struct TensorMemo {
  QuantizedRows quantized[2];  // in one term and in two; data is null until somebody needs it
  int64_t layer[2] = {0, 0};  // the layer of the step whose memory they lie in: they go with it, a kept tensor does not
};

}  // namespace ingle::cpu
