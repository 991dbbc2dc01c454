// Gemma 3n (text): four residual streams of which one goes through the layers while the others are predicted and
// corrected (AltUp), a low-rank way around attention (Laurel), sparse activations in the first layers, and Gemma 4's
// shared caches and per-layer embeddings.
#include <array>
#include <cmath>

#include "base/error.h"
#include "models/architecture.h"
#include "models/per_layer_embeddings.h"
#include "models/rope.h"
#include "nn/attention.h"
#include "nn/output_head.h"

namespace ingle {
namespace {

constexpr int64_t kStreams = 4;
constexpr float kMagnitudeFloor = 1e-5f;  // of a mean square
constexpr std::array<float, kStreams> kCorrectionBase{1, 1, 1, 1};
constexpr std::array<float, kStreams> kOtherStreams{0, 1, 1, 1};  // all but the active one

struct Layer {
  Norm router_norm, attn_norm, laurel_norm, attn_out_norm, mlp_norm, mlp_out_norm, per_layer_norm;
  Linear router, predict, correct;  // d_model -> streams, streams -> streams^2, streams -> streams
  Linear laurel_in, laurel_out;     // d_model -> rank -> d_model
  Attention attn;
  AttentionShape shape;
  bool slides;
  Linear gate, up, down;
  float sparsity;  // standard deviations above the mean that a gate must reach; -infinity: all pass
  std::span<const float> correct_scale;  // of the active stream before the per-layer gate; empty: ones
  Linear per_layer_gate, per_layer_proj;
};

class Gemma3n : public ModelGraph {
 public:
  Gemma3n(const Hparams& h, const Weights& w);

  const Hparams& hparams() const noexcept override { return h_; }
  std::span<const KvGroup> kv_groups() const noexcept override { return groups_; }
  int last_writer() const noexcept override { return h_.last_writer(); }
  Tensor forward(Ops& op, const Step& step) const override;
  Tensor logits(Ops& op, Tensor hidden) const override { return head_(op, hidden); }

 private:
  Layer make_layer(const Weights& b, const LayerHparams& l, int index, float sparsity) const;
  Tensor modalities(Ops& op, const Layer& l, Tensor x) const;
  Tensor mlp(Ops& op, const Layer& l, Tensor x) const;

  Hparams h_;
  const Matrix* embed_;
  Rope rope_, window_rope_;
  PerLayerEmbeddings per_layer_;
  std::vector<Linear> spread_, gather_;  // from the active stream to each other one, and back
  std::vector<Layer> layers_;
  Norm out_norm_;
  OutputHead head_;
  std::vector<KvGroup> groups_;
};

int64_t per_layer_size(const Hparams& h, const Weights& w) {
  const Keys keys(w.file(), h.architecture);
  keys.find("altup.num_inputs", kStreams, kStreams, kStreams);
  keys.find("altup.active_idx", 0, 0, 0);
  return keys.get("embedding_length_per_layer_input", 1, kMaxExtent);
}

std::vector<float> read_sparsity(const Hparams& h, const Weights& w) {
  const std::string key = h.architecture + ".activation_sparsity_scale";
  const auto values = w.file().find_floats(key);
  if (!values) return std::vector<float>(h.layers.size(), -INFINITY);
  if (values->size() != h.layers.size()) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' has {} elements, the model has {} blocks", h.file, key,
                values->size(), h.layers.size());
  }
  for (const double value : *values) {
    if (std::isnan(value) || value == INFINITY)
      throw_error(ErrorCode::kInvalidFile, "{}: key '{}' has {}, it must be a number or -inf", h.file, key, value);
  }
  return {values->begin(), values->end()};
}

Gemma3n::Gemma3n(const Hparams& h, const Weights& w)
    : h_(h),
      embed_(w.table("token_embd", h.d_model, h.vocab)),
      rope_(make_rope(h.rope, Rope::Pairs::kHalves, {})),
      window_rope_(make_rope(h.window_rope, Rope::Pairs::kHalves, {})),
      per_layer_(h, w, per_layer_size(h, w), h.last_writer()),
      spread_(w.linears("altup_proj", kStreams - 1, h.d_model, h.d_model)),
      gather_(w.linears("altup_unembd_proj", kStreams - 1, h.d_model, h.d_model)),
      groups_(group_kv_layers(h)) {
  const std::vector<float> sparsity = read_sparsity(h, w);
  for (size_t i = 0; i < h.layers.size(); ++i)
    layers_.push_back(make_layer(w.block(static_cast<int64_t>(i)), h.layers[i], static_cast<int>(i), sparsity[i]));
  out_norm_ = w.norm("output_norm", h.d_model, h.norm_eps);
  head_ = {fine(w.linear_or("output", "token_embd", h.d_model, h.vocab)), h.logit_soft_cap};
  for (const char* tower : {"v.", "a.", "mm."}) w.skip(tower);
}

Layer Gemma3n::make_layer(const Weights& b, const LayerHparams& l, int index, float sparsity) const {
  const int64_t d = h_.d_model, rank = b.rows_of("laurel_l");
  const auto norm = [&](const char* name) { return b.norm(name, d, h_.norm_eps); };
  Layer layer{.router_norm = norm("altup_router_norm"),
              .attn_norm = norm("attn_norm"),
              .laurel_norm = norm("laurel_post_norm"),
              .attn_out_norm = norm("post_attention_norm"),
              .mlp_norm = norm("ffn_norm"),
              .mlp_out_norm = norm("post_ffw_norm"),
              .per_layer_norm = norm("post_norm"),
              .router = fine(b.linear("altup_router", d, kStreams)),
              .predict = b.linear("altup_predict_coef", kStreams, kStreams * kStreams),
              .correct = b.linear("altup_correct_coef", kStreams, kStreams),
              .laurel_in = fine(b.linear("laurel_l", d, rank)),
              .laurel_out = fine(b.linear("laurel_r", rank, d)),
              .attn = {.q = b.linear("attn_q", d, l.heads * l.k_dim),
                       .k = {},
                       .v = {},
                       .o = b.linear("attn_output", l.heads * l.v_dim, d),
                       .q_norm = b.norm("attn_q_norm", l.k_dim, h_.norm_eps),
                       .k_norm = {},
                       .v_norm = Norm{nullptr, l.v_dim, h_.norm_eps}},
              .shape = {.heads = l.heads, .kv_heads = l.kv_heads, .scale = l.attention_scale, .window = l.window},
              .slides = l.window != 0,
              .gate = b.linear("ffn_gate", d, l.d_ff),
              .up = b.linear("ffn_up", d, l.d_ff),
              .down = b.linear("ffn_down", l.d_ff, d),
              .sparsity = sparsity,
              .correct_scale = b.find_vector("altup_correct_scale", d),
              .per_layer_gate = fine(b.linear("inp_gate", d, per_layer_.size())),
              .per_layer_proj = fine(b.linear("proj", per_layer_.size(), d))};
  layer.correct.bias = kCorrectionBase.data();
  if (l.kv_owner == index) {
    layer.attn.k = fine(b.linear("attn_k", d, l.kv_heads * l.k_dim));
    layer.attn.v = fine(b.linear("attn_v", d, l.kv_heads * l.v_dim));
    layer.attn.k_norm = b.norm("attn_k_norm", l.k_dim, h_.norm_eps);
  } else {
    b.skip("attn_k");
    b.skip("attn_v");
  }
  return layer;
}

// How much of each modality a row has: tanh(router(norm(x) / d)), [rows, streams].
Tensor Gemma3n::modalities(Ops& op, const Layer& l, Tensor x) const {
  const Tensor normed = op.norm(l.router_norm, x);
  op.apply(kScale, normed, {.a = 1.0f / static_cast<float>(h_.d_model)});
  const Tensor result = op.linear(l.router, normed);
  op.apply(kSoftCap, result, {.a = 1.0f});
  return result;
}

Tensor Gemma3n::mlp(Ops& op, const Layer& l, Tensor x) const {
  if (std::isinf(l.sparsity)) return op.gated_mlp(l.gate, l.up, l.down, Activation::kGelu, x);
  Tensor gate, up;
  op.linears({{&l.gate, x}, {&l.up, x}}, {&gate, &up});
  op.apply(kKeepLargest, gate, {.a = l.sparsity});
  op.apply(kGeluMul, gate, {.y = up});
  return op.linear(l.down, gate);
}

Tensor Gemma3n::forward(Ops& op, const Step& step) const {
  op.set_layer(-1);
  const Tensor x = op.embed(*embed_, step.batch.tokens, {.scale = std::sqrt(static_cast<float>(h_.d_model))});
  const PerLayerEmbeddings::Inputs inputs = per_layer_(op, step, x);
  std::array<Tensor, kStreams> parts{x};
  for (size_t i = 1; i < parts.size(); ++i) {
    parts[i] = op.linear(spread_[i - 1], x);
    op.apply(kMatchMagnitude, parts[i], {.y = x, .a = kMagnitudeFloor});
  }
  Tensor streams = op.stack(parts);  // [T, streams, d_model]
  op.keep();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    const auto index = static_cast<int>(i);
    const LayerRows rows = step.need.layer(index);
    op.set_layer(index);
    const Tensor before = op.stream(streams, 0);
    step.tap(index, before);
    Tensor predicted = op.mix(streams, op.linear(l.predict, modalities(op, l, before)));
    Tensor active = op.stream(predicted, 0);
    const Tensor normed = op.norm(l.attn_norm, active);
    const Tensor attended = l.attn(op, l.shape, l.slides ? window_rope_ : rope_, normed, rows, step.kv[i]);
    if (rows.out.empty()) return {};  // the last layer that writes, and nobody wants anything
    predicted = rows.crop(op, predicted);
    active = rows.crop(op, active);

    // y = (active + norm(attention) + laurel) / sqrt(2)
    const Tensor around = rows.crop(op, normed);
    Tensor y = op.norm(l.laurel_norm, op.linear(l.laurel_out, op.linear(l.laurel_in, around)), {.add_to = around});
    y = op.norm(l.attn_out_norm, attended, {.add_to = y});
    op.apply(kAddScaled, y, {.y = active, .a = 1});
    op.apply(kScale, y, {.a = std::sqrt(0.5f)});
    y = op.norm(l.mlp_out_norm, mlp(op, l, op.norm(l.mlp_norm, y)), {.add_to = y});

    const Tensor weights = op.linear(l.correct, modalities(op, l, y));  // its bias is 1
    op.apply(kAddScaled, y, {.y = active, .a = -1});
    op.add_to_streams(predicted, y, weights);
    const Tensor corrected = op.stream(predicted, 0);
    if (!l.correct_scale.empty()) op.apply(kScaleColumns, corrected, {.vector = l.correct_scale.data()});
    const Tensor gate = op.linear(l.per_layer_gate, corrected);
    per_layer_.gate(op, step, inputs, index, gate);
    op.add_to_streams(predicted, op.norm(l.per_layer_norm, op.linear(l.per_layer_proj, gate)), kOtherStreams);
    streams = op.end_layer(predicted);
  }
  op.set_layer(-1);
  if (step.need.wanted().empty()) return {};
  streams = step.need.result().crop(op, streams);
  Tensor sum = op.stream(streams, 0);
  const Tensor active = op.stream(streams, 0);
  for (size_t i = 1; i < kStreams; ++i) {
    const Tensor part = op.linear(gather_[i - 1], op.stream(streams, static_cast<int64_t>(i)));
    op.apply(kMatchMagnitude, part, {.y = active, .a = kMagnitudeFloor});
    op.apply(kAddScaled, sum, {.y = part, .a = 1});
  }
  op.apply(kScale, sum, {.a = 1.0f / kStreams});
  return op.norm(out_norm_, sum);
}

}  // namespace

std::span<const Architecture> gemma3n_architectures() {
  static constexpr Architecture kRows[] = {
      {"gemma3n",
       make_graph<Gemma3n>,
       {.window_period = 5,
        .attention_scale = 1,
        .logit_soft_cap = 30,
        .both_directions = false,
        .shares_caches = true,
        .windows_differ = true}},
  };
  return kRows;
}

}  // namespace ingle
