// Llama's relatives: Gemma 2 and 3, Phi-3.5, OLMo 2, Granite, GLM 4, gpt-oss. As in models/llama.cpp they differ in
// which norms there are, in factors, and in what is fused.
#include <array>
#include <cmath>

#include "models/shapes_builder.h"

namespace ingle {
namespace {

struct Row {
  std::string_view name, architecture, description;
  int64_t layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, context;
  float rope_base, norm_eps;
  bool tied;
  bool norms_before, norms_behind, wide_head_norms, head_norms, fused_qkv, fused_mlp, qkv_biases;
  int64_t window = 0, rotated = 0;        // 0: none; all
  int64_t experts = 0, experts_used = 0;  // gpt-oss, with biases everywhere and sinks
};

constexpr bool kYes = true, kNo = false;
// clang-format off
constexpr std::array kRows = {
    Row{"gemma3-1b", "gemma3", "Gemma 3 1B", 26, 1152, 4, 1, 256, 6912, 262144, 32768, 1e6f, 1e-6f, kYes, kYes, kYes, kNo, kYes, kNo, kNo, kNo, 512},
    Row{"gemma2-2b", "gemma2", "Gemma 2 2B", 26, 2304, 8, 4, 256, 9216, 256000, 8192, 1e4f, 1e-6f, kYes, kYes, kYes, kNo, kNo, kNo, kNo, kNo, 4096},
    Row{"olmo2-1b", "olmo2", "OLMo 2 1B", 16, 2048, 16, 16, 128, 8192, 100352, 4096, 5e5f, 1e-6f, kNo, kNo, kYes, kYes, kNo, kNo, kNo, kNo},
    Row{"granite-2b", "granite", "Granite 3.3 2B", 40, 2048, 32, 8, 64, 8192, 49159, 131072, 1e7f, 1e-5f, kYes, kYes, kNo, kNo, kNo, kNo, kNo, kNo},
    Row{"phi3.5-mini", "phi3", "Phi-3.5 mini", 32, 3072, 32, 32, 96, 8192, 32064, 131072, 1e4f, 1e-5f, kNo, kYes, kNo, kNo, kNo, kYes, kYes, kNo},
    Row{"glm4-9b", "glm4", "GLM 4 9B 0414", 40, 4096, 32, 2, 128, 13696, 151552, 32768, 1e4f, 1e-5f, kNo, kYes, kYes, kNo, kNo, kNo, kYes, kYes, 0, 64},
    Row{"gpt-oss-20b-slice", "gpt-oss", "the first 4 of the 24 layers of gpt-oss 20B", 4, 2880, 64, 8, 64, 2880, 201088, 131072, 1.5e5f, 1e-5f, kNo, kYes, kNo, kNo, kNo, kNo, kNo, kYes, 128, 0, 32, 4},
    Row{"gpt-oss-20b", "gpt-oss", "gpt-oss 20B: 32 experts, 4 used", 24, 2880, 64, 8, 64, 2880, 201088, 131072, 1.5e5f, 1e-5f, kNo, kYes, kNo, kNo, kNo, kNo, kNo, kYes, 128, 0, 32, 4},
};
// clang-format on

bool is(const Row& m, std::string_view architecture) { return m.architecture == architecture; }

void set_keys(ShapeBuilder& b, const Row& m) {
  b.set_size("block_count", m.layers);
  b.set_size("context_length", m.context);
  b.set_size("embedding_length", m.d_model);
  b.set_size("feed_forward_length", m.d_ff);
  b.set_size("attention.head_count", m.heads);
  b.set_size("attention.head_count_kv", m.kv_heads);
  b.set_size("attention.key_length", m.head_dim);
  b.set_size("attention.value_length", m.head_dim);
  b.set<float>("attention.layer_norm_rms_epsilon", m.norm_eps);
  b.set_size("rope.dimension_count", m.rotated > 0 ? m.rotated : m.head_dim);
  b.set<float>("rope.freq_base", m.rope_base);
  b.set_size("vocab_size", m.vocab);
  if (m.window > 0) b.set_size("attention.sliding_window", m.window);
  if (m.experts > 0) {
    b.set_size("expert_count", m.experts);
    b.set_size("expert_used_count", m.experts_used);
    b.set_size("expert_feed_forward_length", m.d_ff);
    b.set<std::string>("rope.scaling.type", "yarn");
    b.set<float>("rope.scaling.factor", 32);
    b.set_size("rope.scaling.original_context_length", 4096);
  }
  if (is(m, "granite")) {
    b.set<float>("embedding_scale", 12);
    b.set<float>("residual_scale", 0.22f);
    b.set<float>("attention.scale", 0.015625f);
    b.set<float>("logit_scale", 8);
  }
  if (is(m, "phi3")) b.set_size("rope.scaling.original_context_length", 4096);
}

void add_attention(ShapeBuilder& b, const Row& m) {
  const int64_t q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  if (m.fused_qkv) {
    b.matrix("attn_qkv", m.d_model, q + 2 * kv);
  } else {
    b.matrix("attn_q", m.d_model, q);
    b.matrix("attn_k", m.d_model, kv);
    b.matrix("attn_v", m.d_model, kv);
  }
  if (m.qkv_biases) {
    b.scale("attn_q.bias", q, 0.1);
    b.scale("attn_k.bias", kv, 0.1);
    b.scale("attn_v.bias", kv, 0.1);
  }
  if (m.head_norms || m.wide_head_norms) {
    b.gain("attn_q_norm", m.wide_head_norms ? q : m.head_dim);
    b.gain("attn_k_norm", m.wide_head_norms ? kv : m.head_dim);
  }
  b.matrix("attn_output", q, m.d_model);
  if (m.experts == 0) return;
  b.scale("attn_output.bias", m.d_model, 0.1);
  b.gain("attn_sinks", m.heads, 0.5);
}

void add_feed_forward(ShapeBuilder& b, const Row& m) {
  if (m.experts > 0) {
    b.float_matrix("ffn_gate_inp", m.d_model, m.experts, matrix_deviation(m.d_model));
    b.scale("ffn_gate_inp.bias", m.experts, 0.1);
    b.matrices("ffn_gate_exps", m.d_model, m.d_ff, m.experts);
    b.matrices("ffn_up_exps", m.d_model, m.d_ff, m.experts);
    b.matrices("ffn_down_exps", m.d_ff, m.d_model, m.experts);
    b.biases("ffn_gate_exps", m.d_ff, m.experts);
    b.biases("ffn_up_exps", m.d_ff, m.experts);
    b.biases("ffn_down_exps", m.d_model, m.experts);
    return;
  }
  if (m.fused_mlp) {
    b.matrix("ffn_up", m.d_model, 2 * m.d_ff);
  } else {
    b.matrix("ffn_gate", m.d_model, m.d_ff);
    b.matrix("ffn_up", m.d_model, m.d_ff);
  }
  b.matrix("ffn_down", m.d_ff, m.d_model);
}

ModelShape make(size_t index, bool with_vocabulary) {
  const Row& m = kRows[index];
  ShapeBuilder b(m.name, m.architecture, m.description);
  set_keys(b, m);
  b.vocabulary(m.vocab, with_vocabulary);
  const bool gemma = is(m, "gemma2") || is(m, "gemma3");
  // Granite's embeddings are multiplied by 12.
  const double usual = matrix_deviation(m.d_model) / (is(m, "granite") ? 12 : 1);
  b.table("token_embd", m.d_model, m.vocab, gemma ? gemma_embedding_deviation(m.d_model) : usual);
  if (is(m, "phi3")) {
    const auto pairs = static_cast<size_t>(m.head_dim / 2);
    b.numbers("rope_factors_short", std::vector<float>(pairs, 1.0f));
    b.numbers("rope_factors_long", std::vector<float>(pairs, 32.0f));
  }
  for (int64_t i = 0; i < m.layers; ++i) {
    b.begin_block(i);
    if (m.norms_before) b.gain("attn_norm", m.d_model);
    add_attention(b, m);
    if (m.norms_behind) b.gain("post_attention_norm", m.d_model, 0.5);
    if (m.norms_before) b.gain(m.experts > 0 ? "post_attention_norm" : "ffn_norm", m.d_model);
    add_feed_forward(b, m);
    if (m.norms_behind) b.gain("post_ffw_norm", m.d_model, 0.5);
  }
  b.end_blocks();
  b.gain("output_norm", m.d_model);
  if (!m.tied) b.matrix("output", m.d_model, m.vocab);
  return b.take();
}

}  // namespace

ShapeFamily relatives_shapes() {
  static constexpr auto kNames = names_of(kRows);
  return {kNames, make};
}

}  // namespace ingle
