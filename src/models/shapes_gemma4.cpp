// Gemma 4: sliding and global layers of different head widths, per-layer embeddings and shared keys and values in the
// small ones, keys that are values in the large ones, a mixture of experts in one.
#include <algorithm>
#include <array>

#include "models/shapes_builder.h"

namespace ingle {
namespace {

constexpr int64_t kSlidingHead = 256, kGlobalHead = 512;
constexpr int64_t kVocab = 262144;
constexpr int64_t kExperts = 128, kExpertsUsed = 8, kExpertFf = 704;

struct Row {
  std::string_view name, description;
  int64_t layers, d_model, heads, sliding_kv_heads, global_kv_heads, d_ff;
  int64_t period;  // the last of so many layers is global
  int64_t window, context;
  int64_t shared_layers;  // last layers that use the keys and values of others
  bool double_shared_ff;  // their MLP is twice as wide
  int64_t per_layer;      // width of a per-layer embedding; 0: none
  bool key_is_value;      // global layers have no attn_v
  bool experts;
};

// clang-format off
constexpr std::array kRows = {
    Row{"gemma4-e2b", "Gemma 4 E2B, text", 35, 1536, 8, 1, 1, 6144, 5, 512, 131072, 20, true, 256, false, false},
    Row{"gemma4-e4b", "Gemma 4 E4B, text", 42, 2560, 8, 2, 2, 10240, 6, 512, 131072, 18, false, 256, false, false},
    Row{"gemma4-12b", "Gemma 4 12B, text", 48, 3840, 16, 8, 1, 15360, 6, 1024, 262144, 0, false, 0, true, false},
    Row{"gemma4-26b-slice", "the first 6 of the 30 layers of Gemma 4 26B-A4B", 6, 2816, 16, 8, 2, 2112, 6, 1024, 262144, 0, false, 0, true, true},
    Row{"gemma4-26b-a4b", "Gemma 4 26B-A4B, text: 128 experts, 8 used", 30, 2816, 16, 8, 2, 2112, 6, 1024, 262144, 0, false, 0, true, true},
    Row{"gemma4-31b", "Gemma 4 31B, text", 60, 5376, 32, 16, 4, 21504, 6, 1024, 262144, 0, false, 0, true, false},
};
// clang-format on

void set_keys(ShapeBuilder& b, const Row& m) {
  std::vector<int32_t> d_ff, kv_heads;
  std::vector<bool> slides;
  for (int64_t i = 0; i < m.layers; ++i) {
    const bool sliding = i % m.period != m.period - 1;
    slides.push_back(sliding);
    kv_heads.push_back(static_cast<int32_t>(sliding ? m.sliding_kv_heads : m.global_kv_heads));
    d_ff.push_back(static_cast<int32_t>(m.double_shared_ff && i >= m.layers - m.shared_layers ? 2 * m.d_ff : m.d_ff));
  }
  b.set_size("block_count", m.layers);
  b.set_size("context_length", m.context);
  b.set_size("embedding_length", m.d_model);
  b.set_sizes("feed_forward_length", d_ff);
  b.set_size("attention.head_count", m.heads);
  b.set_sizes("attention.head_count_kv", kv_heads);
  b.set_size("attention.key_length", kGlobalHead);
  b.set_size("attention.value_length", kGlobalHead);
  b.set_size("attention.key_length_swa", kSlidingHead);
  b.set_size("attention.value_length_swa", kSlidingHead);
  b.set_size("attention.sliding_window", m.window);
  b.set_array("attention.sliding_window_pattern", slides);
  b.set_size("attention.shared_kv_layers", m.shared_layers);
  b.set<float>("attention.layer_norm_rms_epsilon", 1e-6f);
  b.set_size("embedding_length_per_layer_input", m.per_layer);
  b.set<float>("rope.freq_base", 1e6f);
  b.set<float>("rope.freq_base_swa", 1e4f);
  b.set_size("rope.dimension_count", kGlobalHead);
  b.set_size("rope.dimension_count_swa", kSlidingHead);
  b.set<float>("final_logit_softcapping", 30);
  if (m.experts) {
    b.set_size("expert_count", kExperts);
    b.set_size("expert_used_count", kExpertsUsed);
    b.set_size("expert_feed_forward_length", kExpertFf);
  }
  b.set_plain<int32_t>("general.sampling.top_k", 64);
  b.set_plain<float>("general.sampling.top_p", 0.95f);
  b.set_plain<float>("general.sampling.temp", 1);
}

void add_experts(ShapeBuilder& b, const Row& m) {
  // The router sees inputs of length 1/sqrt(d) a channel; a scale of sqrt(d) spreads its scores over the experts.
  const double width = std::sqrt(static_cast<double>(m.d_model));
  b.float_matrix("ffn_gate_inp", m.d_model, kExperts, matrix_deviation(m.d_model));
  b.scale("ffn_gate_inp.scale", m.d_model, width);
  b.gain("pre_ffw_norm_2", m.d_model);
  b.gain("post_ffw_norm_1", m.d_model, 0.5);
  b.gain("post_ffw_norm_2", m.d_model, 0.5);
  b.matrices("ffn_gate_up_exps", m.d_model, 2 * kExpertFf, kExperts);
  b.matrices("ffn_down_exps", kExpertFf, m.d_model, kExperts);
  b.scale("ffn_down_exps.scale", kExperts, 1);
}

void add_layer(ShapeBuilder& b, const Row& m, int64_t layer) {
  const bool sliding = layer % m.period != m.period - 1;
  const bool shared = layer >= m.layers - m.shared_layers;
  const int64_t head_dim = sliding ? kSlidingHead : kGlobalHead;
  const int64_t kv_heads = sliding ? m.sliding_kv_heads : m.global_kv_heads;
  const int64_t d_ff = m.double_shared_ff && shared ? 2 * m.d_ff : m.d_ff;
  // Scores are not divided by sqrt(head_dim): with gains of this size they are around 1 all the same.
  const double head_gain = 1 / std::sqrt(std::sqrt(static_cast<double>(head_dim)));
  b.begin_block(layer);
  b.gain("attn_norm", m.d_model);
  b.matrix("attn_q", m.d_model, m.heads * head_dim);
  // Layers that share still have these in real files, and nobody reads them.
  b.matrix("attn_k", m.d_model, kv_heads * head_dim);
  if (sliding || !m.key_is_value) b.matrix("attn_v", m.d_model, kv_heads * head_dim);
  b.gain("attn_q_norm", head_dim, head_gain);
  b.gain("attn_k_norm", head_dim, head_gain);
  b.matrix("attn_output", m.heads * head_dim, m.d_model);
  b.gain("post_attention_norm", m.d_model, 0.5);
  b.gain("ffn_norm", m.d_model);
  b.matrix("ffn_gate", m.d_model, d_ff);
  b.matrix("ffn_up", m.d_model, d_ff);
  b.matrix("ffn_down", d_ff, m.d_model);
  if (m.experts) add_experts(b, m);
  b.gain("post_ffw_norm", m.d_model, 0.5);
  if (m.per_layer > 0) {
    b.matrix("inp_gate", m.d_model, m.per_layer, ShapeTensor::Storage::kEightBits);
    b.matrix("proj", m.per_layer, m.d_model, ShapeTensor::Storage::kEightBits);
    b.gain("post_norm", m.d_model, 0.3);
  }
  b.gain("layer_output_scale", 1, 0.9, 0.05);
}

ModelShape make(size_t index, bool with_vocabulary) {
  const Row& m = kRows[index];
  ShapeBuilder b(m.name, "gemma4", m.description);
  set_keys(b, m);
  b.vocabulary(kVocab, with_vocabulary);

  b.table("token_embd", m.d_model, kVocab, gemma_embedding_deviation(m.d_model));
  if (m.per_layer > 0) {
    b.table("per_layer_token_embd", m.per_layer * m.layers, kVocab, matrix_deviation(m.per_layer));
    b.matrix("per_layer_model_proj", m.d_model, m.per_layer * m.layers, ShapeTensor::Storage::kEightBits);
    b.gain("per_layer_proj_norm", m.per_layer);
  }
  // Global layers turn a quarter of their channels; a divisor that large stands for an angle of zero.
  std::vector<float> divisors(kGlobalHead / 2, 1e30f);
  std::fill_n(divisors.begin(), kGlobalHead / 8, 1.0f);
  b.numbers("rope_freqs", std::move(divisors));
  for (int64_t i = 0; i < m.layers; ++i) add_layer(b, m, i);
  b.end_blocks();
  b.gain("output_norm", m.d_model);
  return b.take();
}

}  // namespace

ShapeFamily gemma4_shapes() {
  static constexpr auto kNames = names_of(kRows);
  return {kNames, make};
}

}  // namespace ingle
