// Gemma 3n: four residual streams (AltUp), low-rank side branches (Laurel), per-layer embeddings, shared keys and
// values.
#include <algorithm>
#include <array>
#include <limits>

#include "models/shapes_builder.h"

namespace ingle {
namespace {

constexpr int64_t kD = 2048, kHeads = 8, kKvHeads = 2, kHead = 256, kPeriod = 5;
constexpr int64_t kPerLayer = 256, kStreams = 4, kLaurelRank = 64, kSparseLayers = 10;
constexpr int64_t kVocab = 262144;

struct Row {
  std::string_view name, description;
  int64_t layers, d_ff, shared_layers;
};

constexpr std::array kRows = {
    Row{"gemma3n-e2b", "Gemma 3n E2B, text", 30, 8192, 10},
    Row{"gemma3n-e4b", "Gemma 3n E4B, text", 35, 16384, 15},
};

void set_keys(ShapeBuilder& b, const Row& m) {
  std::vector<bool> slides;
  // Of the first layers' activations 5 % are kept: those above this quantile of a normal distribution.
  std::vector<float> cutoffs(static_cast<size_t>(m.layers), -std::numeric_limits<float>::infinity());
  std::fill_n(cutoffs.begin(), kSparseLayers, 1.6448536f);
  for (int64_t i = 0; i < m.layers; ++i) slides.push_back(i % kPeriod != kPeriod - 1);
  b.set_size("block_count", m.layers);
  b.set_size("context_length", 32768);
  b.set_size("embedding_length", kD);
  b.set_size("feed_forward_length", m.d_ff);
  b.set_size("attention.head_count", kHeads);
  b.set_size("attention.head_count_kv", kKvHeads);
  b.set_size("attention.key_length", kHead);
  b.set_size("attention.value_length", kHead);
  b.set_size("attention.sliding_window", 512);
  b.set_array("attention.sliding_window_pattern", slides);
  b.set<float>("attention.shared_kv_layers", static_cast<float>(m.shared_layers));  // published files have a float
  b.set<float>("attention.layer_norm_rms_epsilon", 1e-6f);
  b.set_size("embedding_length_per_layer_input", kPerLayer);
  b.set<float>("rope.freq_base", 1e6f);
  b.set_array("activation_sparsity_scale", cutoffs);
  b.set_size("altup.active_idx", 0);
  b.set_size("altup.num_inputs", kStreams);
  b.set<float>("final_logit_softcapping", 30);
}

void add_layer(ShapeBuilder& b, const Row& m, int64_t layer) {
  const double head_gain = 1 / std::sqrt(std::sqrt(static_cast<double>(kHead)));  // scores are not scaled
  b.begin_block(layer);
  b.gain("attn_norm", kD);
  b.matrix("attn_q", kD, kHeads * kHead);
  b.matrix("attn_k", kD, kKvHeads * kHead);
  b.matrix("attn_v", kD, kKvHeads * kHead);
  b.gain("attn_q_norm", kHead, head_gain);
  b.gain("attn_k_norm", kHead, head_gain);
  b.matrix("attn_output", kHeads * kHead, kD);
  b.gain("post_attention_norm", kD, 0.5);
  b.gain("ffn_norm", kD);
  b.matrix("ffn_gate", kD, m.d_ff);
  b.matrix("ffn_up", kD, m.d_ff);
  b.matrix("ffn_down", m.d_ff, kD);
  b.gain("post_ffw_norm", kD, 0.5);
  b.matrix("inp_gate", kD, kPerLayer, ShapeTensor::Storage::kEightBits);
  b.matrix("proj", kPerLayer, kD, ShapeTensor::Storage::kEightBits);
  b.gain("post_norm", kD, 0.3);
  b.float_matrix("altup_router", kD, kStreams, matrix_deviation(kD));
  // The router divides its input by the width; such a gain undoes that, so that its answers are not all zero.
  b.gain("altup_router_norm", kD, static_cast<double>(kD));
  b.float_matrix("altup_predict_coef", kStreams, kStreams * kStreams, 0.1);
  b.float_matrix("altup_correct_coef", kStreams, kStreams, 0.1);
  b.gain("altup_correct_scale", kD);
  b.matrix("laurel_l", kD, kLaurelRank, ShapeTensor::Storage::kEightBits);
  b.matrix("laurel_r", kLaurelRank, kD, ShapeTensor::Storage::kEightBits);
  b.gain("laurel_post_norm", kD, 0.5);
}

ModelShape make(size_t index, bool with_vocabulary) {
  const Row& m = kRows[index];
  ShapeBuilder b(m.name, "gemma3n", m.description);
  set_keys(b, m);
  b.vocabulary(kVocab, with_vocabulary);

  b.table("token_embd", kD, kVocab, gemma_embedding_deviation(kD));
  b.table("per_layer_token_embd", kPerLayer * m.layers, kVocab, matrix_deviation(kPerLayer));
  b.matrix("per_layer_model_proj", kD, kPerLayer * m.layers, ShapeTensor::Storage::kEightBits);
  b.gain("per_layer_proj_norm", kPerLayer);
  b.matrices("altup_proj", kD, kD, kStreams - 1, ShapeTensor::Storage::kEightBits);
  b.matrices("altup_unembd_proj", kD, kD, kStreams - 1, ShapeTensor::Storage::kEightBits);
  for (int64_t i = 0; i < m.layers; ++i) add_layer(b, m, i);
  b.end_blocks();
  b.gain("output_norm", kD);
  return b.take();
}

}  // namespace

ShapeFamily gemma3n_shapes() {
  static constexpr auto kNames = names_of(kRows);
  return {kNames, make};
}

}  // namespace ingle
