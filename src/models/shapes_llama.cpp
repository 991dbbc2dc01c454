// Llama 3, Mistral, SmolLM2 and Qwen3, dense or with experts: the architectures of models/llama.cpp.
#include <array>
#include <numbers>

#include "models/shapes_builder.h"

namespace ingle {
namespace {

struct Row {
  std::string_view name, architecture, description;
  int64_t layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, context;
  float rope_base, norm_eps;
  bool tied;            // no output matrix of its own
  bool head_norms;      // on each head's q and k
  double rope_stretch;  // Llama 3's factor for low frequencies, as a tensor rope_freqs; 0: none
  int64_t experts = 0, experts_used = 0, expert_d_ff = 0;
};

// clang-format off
constexpr std::array kRows = {
    Row{"smollm2-135m", "llama", "SmolLM2 135M", 30, 576, 9, 3, 64, 1536, 49152, 8192, 1e5f, 1e-5f, true, false, 0},
    Row{"qwen3-0.6b", "qwen3", "Qwen3 0.6B", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1e6f, 1e-6f, true, true, 0},
    Row{"llama-1b", "llama", "Llama 3.2 1B", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 5e5f, 1e-5f, true, false, 32},
    Row{"qwen3-4b", "qwen3", "Qwen3 4B", 36, 2560, 32, 8, 128, 9728, 151936, 40960, 1e6f, 1e-6f, true, true, 0},
    Row{"mistral-7b", "llama", "Mistral 7B v0.3", 32, 4096, 32, 8, 128, 14336, 32768, 32768, 1e6f, 1e-5f, false, false, 0},
    Row{"llama-8b", "llama", "Llama 3.1 8B", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 5e5f, 1e-5f, false, false, 8},
    Row{"qwen3-30b-a3b-slice", "qwen3moe", "the first 4 of the 48 layers of Qwen3 30B-A3B", 4, 2048, 32, 4, 128, 6144, 151936, 40960, 1e6f, 1e-6f, false, true, 0, 128, 8, 768},
    Row{"qwen3-30b-a3b", "qwen3moe", "Qwen3 30B-A3B: 128 experts, 8 used", 48, 2048, 32, 4, 128, 6144, 151936, 40960, 1e6f, 1e-6f, false, true, 0, 128, 8, 768},
};
// clang-format on

// Llama 3.1's stretching of long waves: untouched up to 1/4 of the first training's context, divided by `stretch`
// from the whole of it on, in between both mixed.
std::vector<float> rope_divisors(const Row& m) {
  constexpr double kOriginalContext = 8192, kLow = 1, kHigh = 4;
  std::vector<float> divisors;
  for (int64_t i = 0; i < m.head_dim / 2; ++i) {
    const double wave =
        2 * std::numbers::pi *
        std::pow(static_cast<double>(m.rope_base), 2 * static_cast<double>(i) / static_cast<double>(m.head_dim));
    double divisor = 1;
    if (wave > kOriginalContext / kLow) {
      divisor = m.rope_stretch;
    } else if (wave > kOriginalContext / kHigh) {
      const double smooth = (kOriginalContext / wave - kLow) / (kHigh - kLow);
      divisor = 1 / ((1 - smooth) / m.rope_stretch + smooth);
    }
    divisors.push_back(static_cast<float>(divisor));
  }
  return divisors;
}

ModelShape make(size_t index, bool with_vocabulary) {
  const Row& m = kRows[index];
  ShapeBuilder b(m.name, m.architecture, m.description);
  b.set_size("block_count", m.layers);
  b.set_size("context_length", m.context);
  b.set_size("embedding_length", m.d_model);
  b.set_size("feed_forward_length", m.d_ff);
  b.set_size("attention.head_count", m.heads);
  b.set_size("attention.head_count_kv", m.kv_heads);
  b.set_size("attention.key_length", m.head_dim);
  b.set_size("attention.value_length", m.head_dim);
  b.set<float>("attention.layer_norm_rms_epsilon", m.norm_eps);
  b.set_size("rope.dimension_count", m.head_dim);
  b.set<float>("rope.freq_base", m.rope_base);
  b.set_size("vocab_size", m.vocab);
  if (m.experts > 0) {
    b.set_size("expert_count", m.experts);
    b.set_size("expert_used_count", m.experts_used);
    b.set_size("expert_feed_forward_length", m.expert_d_ff);
  }
  b.vocabulary(m.vocab, with_vocabulary);

  b.table("token_embd", m.d_model, m.vocab, matrix_deviation(m.d_model));
  if (m.rope_stretch > 0) b.numbers("rope_freqs", rope_divisors(m));
  for (int64_t i = 0; i < m.layers; ++i) {
    b.begin_block(i);
    b.gain("attn_norm", m.d_model);
    b.matrix("attn_q", m.d_model, m.heads * m.head_dim);
    b.matrix("attn_k", m.d_model, m.kv_heads * m.head_dim);
    b.matrix("attn_v", m.d_model, m.kv_heads * m.head_dim);
    if (m.head_norms) {
      b.gain("attn_q_norm", m.head_dim);
      b.gain("attn_k_norm", m.head_dim);
    }
    b.matrix("attn_output", m.heads * m.head_dim, m.d_model);
    b.gain("ffn_norm", m.d_model);
    if (m.experts > 0) {
      b.float_matrix("ffn_gate_inp", m.d_model, m.experts, matrix_deviation(m.d_model));
      b.matrices("ffn_gate_exps", m.d_model, m.expert_d_ff, m.experts);
      b.matrices("ffn_up_exps", m.d_model, m.expert_d_ff, m.experts);
      b.matrices("ffn_down_exps", m.expert_d_ff, m.d_model, m.experts);
    } else {
      b.matrix("ffn_gate", m.d_model, m.d_ff);
      b.matrix("ffn_up", m.d_model, m.d_ff);
      b.matrix("ffn_down", m.d_ff, m.d_model);
    }
  }
  b.end_blocks();
  b.gain("output_norm", m.d_model);
  if (!m.tied) b.matrix("output", m.d_model, m.vocab);
  return b.take();
}

}  // namespace

ShapeFamily llama_shapes() {
  static constexpr auto kNames = names_of(kRows);
  return {kNames, make};
}

}  // namespace ingle
