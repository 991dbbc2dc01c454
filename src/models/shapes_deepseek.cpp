// DeepSeek V2-Lite: attention over latent rows, one dense layer and then mixtures of small experts beside two that
// serve every row.
#include <array>

#include "models/shapes_builder.h"

namespace ingle {
namespace {

constexpr int64_t kD = 2048, kDenseFf = 10944, kVocab = 102400;
constexpr int64_t kHeads = 16, kRank = 512, kPlain = 128, kTurned = 64, kValue = 128;
constexpr int64_t kExperts = 64, kExpertsUsed = 6, kExpertFf = 1408, kShared = 2, kDenseLayers = 1;

struct Row {
  std::string_view name, description;
  int64_t layers;
};

constexpr std::array kRows = {
    Row{"deepseek-v2-lite-slice", "the first 4 of the 27 layers of DeepSeek V2-Lite", 4},
    Row{"deepseek-v2-lite", "DeepSeek V2-Lite 16B: 64 experts, 6 used, and 2 that serve every row", 27},
};

void set_keys(ShapeBuilder& b, const Row& m) {
  b.set_size("block_count", m.layers);
  b.set_size("context_length", 163840);
  b.set_size("embedding_length", kD);
  b.set_size("feed_forward_length", kDenseFf);
  b.set_size("attention.head_count", kHeads);
  b.set_size("attention.head_count_kv", 1);  // sizes of the cached row, then of a head
  b.set_size("attention.key_length", kRank + kTurned);
  b.set_size("attention.value_length", kRank);
  b.set_size("attention.key_length_mla", kPlain + kTurned);
  b.set_size("attention.value_length_mla", kValue);
  b.set_size("attention.kv_lora_rank", kRank);
  b.set<float>("attention.layer_norm_rms_epsilon", 1e-6f);
  b.set_size("rope.dimension_count", kTurned);
  b.set<float>("rope.freq_base", 10000);
  b.set<std::string>("rope.scaling.type", "yarn");
  b.set<float>("rope.scaling.factor", 40);
  b.set_size("rope.scaling.original_context_length", 4096);
  b.set<float>("rope.scaling.yarn_log_multiplier", 0.0707f);
  b.set_size("vocab_size", kVocab);
  b.set_size("leading_dense_block_count", kDenseLayers);
  b.set_size("expert_count", kExperts);
  b.set_size("expert_used_count", kExpertsUsed);
  b.set_size("expert_feed_forward_length", kExpertFf);
  b.set_size("expert_shared_count", kShared);
  b.set<float>("expert_weights_scale", 1);
  b.set<bool>("expert_weights_norm", false);
}

void add_layer(ShapeBuilder& b, int64_t layer) {
  b.begin_block(layer);
  b.gain("attn_norm", kD);
  b.matrix("attn_q", kD, kHeads * (kPlain + kTurned));
  b.matrix("attn_kv_a_mqa", kD, kRank + kTurned);
  b.gain("attn_kv_a_norm", kRank);
  b.matrices("attn_k_b", kPlain, kRank, kHeads);
  b.matrices("attn_v_b", kRank, kValue, kHeads);
  b.matrix("attn_output", kHeads * kValue, kD);
  b.gain("ffn_norm", kD);
  if (layer < kDenseLayers) {
    b.matrix("ffn_gate", kD, kDenseFf);
    b.matrix("ffn_up", kD, kDenseFf);
    b.matrix("ffn_down", kDenseFf, kD);
    return;
  }
  b.float_matrix("ffn_gate_inp", kD, kExperts, matrix_deviation(kD));
  b.matrices("ffn_gate_exps", kD, kExpertFf, kExperts);
  b.matrices("ffn_up_exps", kD, kExpertFf, kExperts);
  b.matrices("ffn_down_exps", kExpertFf, kD, kExperts);
  b.matrix("ffn_gate_shexp", kD, kShared * kExpertFf);
  b.matrix("ffn_up_shexp", kD, kShared * kExpertFf);
  b.matrix("ffn_down_shexp", kShared * kExpertFf, kD);
}

ModelShape make(size_t index, bool with_vocabulary) {
  const Row& m = kRows[index];
  ShapeBuilder b(m.name, "deepseek2", m.description);
  set_keys(b, m);
  b.vocabulary(kVocab, with_vocabulary);
  b.table("token_embd", kD, kVocab, matrix_deviation(kD));
  for (int64_t i = 0; i < m.layers; ++i) add_layer(b, i);
  b.end_blocks();
  b.gain("output_norm", kD);
  b.matrix("output", kD, kVocab);
  return b.take();
}

}  // namespace

ShapeFamily deepseek_shapes() {
  static constexpr auto kNames = names_of(kRows);
  return {kNames, make};
}

}  // namespace ingle
