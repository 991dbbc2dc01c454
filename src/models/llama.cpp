// Llama 2 and 3, Mistral, Mixtral, SmolLM2, Qwen 2 and 3: pre-norm, one residual stream, grouped-query attention, gated
// MLP or a mixture of them. Biases, norms of q and k, frequency factors, windows and tied output are there when the
// file has them.
#include <variant>

#include "models/architecture.h"
#include "models/experts.h"
#include "models/rope.h"
#include "nn/attention.h"
#include "nn/gated_mlp.h"

namespace ingle {
namespace {

struct Layer {
  Norm attn_norm;
  Attention attn;
  AttentionShape shape;
  Norm mlp_norm;
  std::variant<GatedMlp, MixtureOfExperts> mlp;
};

std::variant<GatedMlp, MixtureOfExperts> read_mlp(const Hparams& h, const Weights& b, const LayerHparams& l) {
  if (h.experts > 0) return read_experts(h, b, Activation::kSilu);
  return GatedMlp{.gate = b.linear("ffn_gate", h.d_model, l.d_ff),
                  .up = b.linear("ffn_up", h.d_model, l.d_ff),
                  .down = b.linear("ffn_down", l.d_ff, h.d_model)};
}

class Llama : public ModelGraph {
 public:
  Llama(const Hparams& h, const Weights& w, Rope::Pairs pairs);

  const Hparams& hparams() const noexcept override { return h_; }
  std::span<const KvGroup> kv_groups() const noexcept override { return groups_; }
  int last_writer() const noexcept override { return static_cast<int>(layers_.size()) - 1; }
  Tensor forward(Ops& op, const Step& step) const override;
  Tensor logits(Ops& op, Tensor hidden) const override { return op.linear(head_, hidden); }

 private:
  Hparams h_;
  const Matrix* embed_;
  Rope rope_;
  std::vector<Layer> layers_;
  Norm out_norm_;
  Linear head_;
  std::vector<KvGroup> groups_;
};

Llama::Llama(const Hparams& h, const Weights& w, Rope::Pairs pairs)
    : h_(h),
      embed_(w.table("token_embd", h.d_model, h.vocab)),
      rope_(make_rope(h.rope, pairs, w.find_vector("rope_freqs", h.rope.rotated / 2))),
      groups_(group_kv_layers(h)) {
  for (int64_t i = 0; i < h.layer_count(); ++i) {
    const Weights b = w.block(i);
    const LayerHparams& l = h.layers[static_cast<size_t>(i)];
    layers_.push_back({
        .attn_norm = b.norm("attn_norm", h.d_model, h.norm_eps),
        .attn = {.q = b.linear("attn_q", h.d_model, l.heads * l.k_dim),
                 .k = fine(b.linear("attn_k", h.d_model, l.kv_heads * l.k_dim)),
                 .v = fine(b.linear("attn_v", h.d_model, l.kv_heads * l.v_dim)),
                 .o = b.linear("attn_output", l.heads * l.v_dim, h.d_model),
                 .q_norm = b.find_norm("attn_q_norm", l.k_dim, h.norm_eps),
                 .k_norm = b.find_norm("attn_k_norm", l.k_dim, h.norm_eps)},
        .shape = {.heads = l.heads, .kv_heads = l.kv_heads, .scale = l.attention_scale, .window = l.window},
        .mlp_norm = b.norm("ffn_norm", h.d_model, h.norm_eps),
        .mlp = read_mlp(h, b, l),
    });
  }
  out_norm_ = w.norm("output_norm", h.d_model, h.norm_eps);
  head_ = fine(w.linear_or("output", "token_embd", h.d_model, h.vocab));  // tied when "output" is absent
}

Tensor Llama::forward(Ops& op, const Step& step) const {
  op.set_layer(-1);
  Tensor x = op.embed(*embed_, step.batch.tokens);  // [T, d_model]
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    const LayerRows rows = step.need.layer(static_cast<int>(i));
    op.set_layer(static_cast<int>(i));
    step.tap(static_cast<int>(i), x);
    const Tensor residual = rows.out.empty() ? Tensor{} : rows.crop(op, x);
    x = l.attn(op, l.shape, rope_, op.norm(l.attn_norm, x), rows, step.kv[i], {.add_to = residual});
    if (rows.out.empty()) return {};  // after the last layer that writes, nobody wants anything
    const Tensor normed = op.norm(l.mlp_norm, x);
    x = op.end_layer(std::visit([&](const auto& mlp) { return mlp(op, normed, {.add_to = x}); }, l.mlp));
  }
  op.set_layer(-1);
  if (step.need.wanted().empty()) return {};
  return op.norm(out_norm_, step.need.result().crop(op, x));
}

}  // namespace

std::span<const Architecture> llama_architectures() {
  static constexpr Architecture kRows[] = {
      {"llama", make_graph<Llama, Rope::Pairs::kAdjacent>},   // Llama 1-3, Mistral, Mixtral, SmolLM, SmolLM2
      {"qwen2", make_graph<Llama, Rope::Pairs::kHalves>},     // Qwen2, Qwen2.5
      {"qwen3", make_graph<Llama, Rope::Pairs::kHalves>},     // with norms on each head's q and k
      {"qwen3moe", make_graph<Llama, Rope::Pairs::kHalves>},  // the same, with experts
  };
  return kRows;
}

}  // namespace ingle
