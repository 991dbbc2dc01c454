// Gemma 4 (text): sliding and full layers with head sizes and ropes of their own, norms before and behind each part of
// a layer, a last part of layers that only read the caches of earlier ones, per-layer embeddings, and in some models a
// mixture of experts beside the dense feed-forward. What a file leaves out its model does not have.
#include <cmath>

#include "models/architecture.h"
#include "models/experts.h"
#include "models/per_layer_embeddings.h"
#include "models/rope.h"
#include "nn/attention.h"
#include "nn/gated_mlp.h"
#include "nn/output_head.h"

namespace ingle {
namespace {

// Experts beside the dense feed-forward; both read the same rows.
struct Mixture {
  std::vector<float> router_gain;
  Norm router_norm, in_norm, dense_out_norm, out_norm;
  MixtureOfExperts experts;
};

struct PerLayerPart {
  Linear gate, proj;  // d_model -> size, size -> d_model
  Norm out_norm;
};

struct Layer {
  Norm attn_norm;
  Attention attn;
  AttentionShape shape;
  bool slides;
  Norm attn_out_norm, mlp_norm;
  GatedMlp mlp;
  std::optional<Mixture> mixture;
  Norm mlp_out_norm;
  std::optional<PerLayerPart> per_layer;
  float scale;  // of the residual stream at the end of the layer
};

class Gemma4 : public ModelGraph {
 public:
  Gemma4(const Hparams& h, const Weights& w);

  const Hparams& hparams() const noexcept override { return h_; }
  std::span<const KvGroup> kv_groups() const noexcept override { return groups_; }
  int last_writer() const noexcept override { return h_.last_writer(); }
  Tensor forward(Ops& op, const Step& step) const override;
  Tensor logits(Ops& op, Tensor hidden) const override { return head_(op, hidden); }

 private:
  Layer make_layer(const Weights& b, const LayerHparams& l, int index) const;
  Mixture make_mixture(const Weights& b) const;
  Tensor mix(Ops& op, const Layer& l, Tensor x) const;

  Hparams h_;
  const Matrix* embed_;
  Rope rope_, window_rope_;
  std::optional<PerLayerEmbeddings> per_layer_;
  std::vector<Layer> layers_;
  Norm out_norm_;
  OutputHead head_;
  std::vector<KvGroup> groups_;
};

// The divisors that leave all but the first quarter of the pairs where they are; for files that do not bring them.
std::vector<float> proportional_factors(int64_t pairs) {
  std::vector<float> factors(static_cast<size_t>(pairs), 1e30f);
  std::fill_n(factors.begin(), pairs / 4, 1.0f);
  return factors;
}

Rope full_rope(const Hparams& h, const Weights& w) {
  const std::span<const float> factors = w.find_vector("rope_freqs", h.rope.rotated / 2);
  const std::vector<float> usual = proportional_factors(h.rope.rotated / 2);
  return make_rope(h.rope, Rope::Pairs::kHalves, factors.empty() ? usual : factors);
}

Gemma4::Gemma4(const Hparams& h, const Weights& w)
    : h_(h),
      embed_(w.table("token_embd", h.d_model, h.vocab)),
      rope_(full_rope(h, w)),
      window_rope_(make_rope(h.window_rope, Rope::Pairs::kHalves, {})),
      groups_(group_kv_layers(h)) {
  const Keys keys(w.file(), h.architecture);
  if (const int64_t size = keys.find("embedding_length_per_layer_input", 0, 0, kMaxExtent); size > 0)
    per_layer_.emplace(h, w, size, h.last_writer());
  layers_.reserve(h.layers.size());
  for (int64_t i = 0; i < h.layer_count(); ++i)
    layers_.push_back(make_layer(w.block(i), h.layers[static_cast<size_t>(i)], static_cast<int>(i)));
  out_norm_ = w.norm("output_norm", h.d_model, h.norm_eps);
  head_ = {fine(w.linear_or("output", "token_embd", h.d_model, h.vocab)), h.logit_soft_cap};
  for (const char* tower : {"v.", "a.", "mm."}) w.skip(tower);  // vision and sound, in files that hold them too
}

Layer Gemma4::make_layer(const Weights& b, const LayerHparams& l, int index) const {
  const auto norm = [&](const char* name) { return b.norm(name, h_.d_model, h_.norm_eps); };
  Layer layer{.attn_norm = norm("attn_norm"),
              .attn = {.q = b.linear("attn_q", h_.d_model, l.heads * l.k_dim),
                       .k = {},
                       .v = {},
                       .o = b.linear("attn_output", l.heads * l.v_dim, h_.d_model),
                       .q_norm = b.norm("attn_q_norm", l.k_dim, h_.norm_eps),
                       .k_norm = {},
                       .v_norm = Norm{nullptr, l.v_dim, h_.norm_eps}},
              .shape = {.heads = l.heads, .kv_heads = l.kv_heads, .scale = l.attention_scale, .window = l.window},
              .slides = l.window != 0,
              .attn_out_norm = norm("post_attention_norm"),
              .mlp_norm = norm("ffn_norm"),
              .mlp = {.gate = b.linear("ffn_gate", h_.d_model, l.d_ff),
                      .up = b.linear("ffn_up", h_.d_model, l.d_ff),
                      .down = b.linear("ffn_down", l.d_ff, h_.d_model),
                      .activation = Activation::kGelu},
              .mixture = {},
              .mlp_out_norm = norm("post_ffw_norm"),
              .per_layer = {},
              .scale = 1};
  if (l.kv_owner == index) {
    layer.attn.k = fine(b.linear("attn_k", h_.d_model, l.kv_heads * l.k_dim));
    // Without v the keys' own rows are the values, which then have their size.
    if (b.has("attn_v") || l.k_dim != l.v_dim)
      layer.attn.v = fine(b.linear("attn_v", h_.d_model, l.kv_heads * l.v_dim));
    layer.attn.k_norm = b.norm("attn_k_norm", l.k_dim, h_.norm_eps);
  } else {
    b.skip("attn_k");  // and attn_k_norm: files keep them, nobody reads them
    b.skip("attn_v");
  }
  if (b.has("ffn_gate_inp")) layer.mixture = make_mixture(b);
  if (per_layer_) {
    layer.per_layer = {.gate = fine(b.linear("inp_gate", h_.d_model, per_layer_->size())),
                       .proj = fine(b.linear("proj", per_layer_->size(), h_.d_model)),
                       .out_norm = norm("post_norm")};
  }
  if (const std::span<const float> scale = b.find_vector("layer_output_scale", 1); !scale.empty())
    layer.scale = scale[0];
  return layer;
}

Mixture Gemma4::make_mixture(const Weights& b) const {
  const auto norm = [&](const char* name) { return b.norm(name, h_.d_model, h_.norm_eps); };
  const int64_t d = h_.d_model;
  Mixture m{.router_gain = std::vector<float>(static_cast<size_t>(d), 1.0f / std::sqrt(static_cast<float>(d))),
            .router_norm = {},
            .in_norm = norm("pre_ffw_norm_2"),
            .dense_out_norm = norm("post_ffw_norm_1"),
            .out_norm = norm("post_ffw_norm_2"),
            .experts = read_experts(h_, b, Activation::kGelu)};
  if (const std::span<const float> scale = b.find_scales("ffn_gate_inp", d); !scale.empty()) {
    for (size_t i = 0; i < scale.size(); ++i) m.router_gain[i] *= scale[i];
  }
  m.router_norm = {m.router_gain.data(), d, h_.norm_eps};
  return m;
}

// The feed-forward part, before its closing norm.
Tensor Gemma4::mix(Ops& op, const Layer& l, Tensor x) const {
  const Tensor dense = l.mlp(op, op.norm(l.mlp_norm, x));
  if (!l.mixture) return dense;
  const Mixture& m = *l.mixture;
  const Tensor experts = m.experts(op, op.norm(m.router_norm, x), op.norm(m.in_norm, x));
  return op.norm(m.out_norm, experts, {.add_to = op.norm(m.dense_out_norm, dense)});
}

Tensor Gemma4::forward(Ops& op, const Step& step) const {
  op.set_layer(-1);
  Tensor x = op.embed(*embed_, step.batch.tokens, {.scale = std::sqrt(static_cast<float>(h_.d_model))});
  PerLayerEmbeddings::Inputs inputs;
  if (per_layer_) inputs = (*per_layer_)(op, step, x);
  op.keep();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    const auto index = static_cast<int>(i);
    const LayerRows rows = step.need.layer(index);
    op.set_layer(index);
    step.tap(index, x);
    const Rope& rope = l.slides ? window_rope_ : rope_;
    const Tensor attended = l.attn(op, l.shape, rope, op.norm(l.attn_norm, x), rows, step.kv[i]);
    if (rows.out.empty()) return {};  // the last layer that writes, and nobody wants anything
    x = op.norm(l.attn_out_norm, attended, {.add_to = rows.crop(op, x)});
    x = op.norm(l.mlp_out_norm, mix(op, l, x), {.add_to = x});
    if (l.per_layer) {
      const Tensor gate = op.linear(l.per_layer->gate, x);
      per_layer_->gate(op, step, inputs, index, gate);
      x = op.norm(l.per_layer->out_norm, op.linear(l.per_layer->proj, gate), {.add_to = x});
    }
    if (l.scale != 1) op.apply(kScale, x, {.a = l.scale});
    x = op.end_layer(x);
  }
  op.set_layer(-1);
  if (step.need.wanted().empty()) return {};
  return op.norm(out_norm_, step.need.result().crop(op, x));
}

}  // namespace

std::span<const Architecture> gemma4_architectures() {
  static constexpr Architecture kRows[] = {
      {"gemma4",
       make_graph<Gemma4>,
       {.window_period = 6,
        .attention_scale = 1,
        .logit_soft_cap = 30,
        .both_directions = false,
        .shares_caches = true,
        .windows_differ = true}},
  };
  return kRows;
}

}  // namespace ingle
