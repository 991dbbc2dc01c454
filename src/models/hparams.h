// The numbers a transformer's file gives about itself, checked before anything is computed from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/keys.h"

namespace ingle {

struct LayerHparams {
  int64_t heads = 0, kv_heads = 0;
  int64_t k_dim = 0, v_dim = 0;  // of a head
  int64_t d_ff = 0;
  int32_t window = 0;  // sliding window; 0: none
  float attention_scale = 0;
  int kv_owner = 0;  // the layer whose keys and values this one reads: itself where it writes them
};

enum class RopeScaling { kNone, kLinear, kYarn, kLong };

struct RopeHparams {
  int64_t rotated = 0;  // channels of a head
  double base = 10000;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;
  int64_t original_context = 0;
  double attention_factor = 1;
  // YaRN (Peng et al., arXiv:2309.00071)
  double extrapolation = 1, beta_fast = 32, beta_slow = 1, log_multiplier = 0;
  bool whole_pairs = true;  // the ramp begins and ends at whole pairs

  bool operator==(const RopeHparams& other) const noexcept = default;
};

// What a file of some architecture means when it does not say.
struct HparamDefaults {
  int64_t window_period = 0;    // with a window and no pattern: the last of so many layers sees everything; 0: none
  double attention_scale = 0;   // 0: 1 / sqrt(k_dim)
  int64_t scaled_by_width = 0;  // a model of so many layers scales scores by 1 / sqrt(d_model / heads) instead
  double attention_soft_cap = 0, logit_soft_cap = 0;  // 0: none
  bool embeddings_by_width = false;                   // embeddings are multiplied by sqrt(d_model)
  bool expert_weights_norm = true;                    // an expert's weight is its share among the used ones, not of all
  bool whole_yarn_pairs = true;                       // RopeHparams::whole_pairs
  bool layer_norms = false;                           // norms are centred: their eps has a key of another name
  bool causal = true;                                 // a token sees those before it; false: all of its text
  bool both_directions = true;                        // false: a file that says it is not causal is refused
  bool windows = true;                                // false: a file with a sliding window is refused
  bool shares_caches = false;                         // the last layers may read the cache of earlier ones
  bool windows_differ = false;          // sliding layers have a head size and a rope (base 10000) of their own
  bool windows_unstretched = false;     // sliding layers turn without rope scaling
  bool whole_attention_factor = false;  // rope.scaling.attn_factor has what YaRN gives in it already
};

struct Hparams {
  std::string architecture, file;  // file: the name for messages
  int64_t d_model = 0, vocab = 0, context_length = 0;
  float norm_eps = 0;
  bool causal = true;  // false: a token sees all of its text, which so must be read in one step
  // Rows of tables that some encoders add to their embeddings; 0: there is no such table.
  int64_t position_rows = 0, segment_rows = 0;
  float attention_soft_cap = 0, logit_soft_cap = 0;  // 0: none
  float embedding_scale = 1;                         // what embeddings are multiplied by
  float residual_scale = 1;                          // what a part of a layer is multiplied by before it is added
  float logit_scale = 1;                             // what logits are divided by
  int64_t experts = 0, experts_used = 0, expert_d_ff = 0, shared_expert_d_ff = 0;
  bool expert_weights_norm = true;
  RopeHparams rope, window_rope;     // of layers that see everything, of sliding ones
  std::vector<LayerHparams> layers;  // one per block

  int64_t layer_count() const noexcept { return static_cast<int64_t>(layers.size()); }
  // The last layer that writes keys and values: layers after it read those of others.
  int last_writer() const noexcept;
};

// Throws Error: kInvalidFile (names the key, what it is and what it may be), kUnsupported (rope scaling, attention that
// the architecture's graph does not compute).
// `vocab` is the number of rows of token_embd.weight.
Hparams read_hparams(const GgufFile& file, const HparamDefaults& defaults = {});

}  // namespace ingle
