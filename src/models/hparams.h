// The numbers a transformer's file gives about itself, checked before anything is computed from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf/gguf.h"

namespace ingle {

struct LayerHparams {
  int64_t heads = 0, kv_heads = 0;
  int64_t d_ff = 0;
  int32_t window = 0;  // sliding window; 0: none
};

enum class RopeScaling { kNone, kLinear, kYarn };

struct RopeHparams {
  int64_t rotated = 0;  // channels of a head
  double base = 10000;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;
  int64_t original_context = 0;
  double attention_factor = 1;
  // YaRN (Peng et al., arXiv:2309.00071)
  double extrapolation = 1, beta_fast = 32, beta_slow = 1, log_multiplier = 0;
};

struct Hparams {
  std::string architecture, file;  // file: the name for messages
  int64_t d_model = 0, vocab = 0, context_length = 0;
  int64_t k_dim = 0, v_dim = 0;  // of a head
  float norm_eps = 0;
  float attention_scale = 0;
  int64_t experts = 0;
  RopeHparams rope;
  std::vector<LayerHparams> layers;  // one per block

  int64_t layer_count() const noexcept { return static_cast<int64_t>(layers.size()); }
};

// Throws Error: kInvalidFile (names the key, what it is and what it may be), kUnsupported (rope scaling).
// `vocab` is the number of rows of token_embd.weight.
Hparams read_hparams(const GgufFile& file);

}  // namespace ingle
