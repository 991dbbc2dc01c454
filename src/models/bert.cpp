// Encoders: every token of a text sees all others, and a layer ends with a norm. BERT (Devlin et al., arXiv:1810.04805)
// and its descendants add a learned position to each embedding; Nomic's (arXiv:2402.01613) turn queries and keys
// instead, and their feed-forward blocks have gates. What comes out of the last layer is the result: there is no output
// layer.
#include <variant>

#include "models/architecture.h"
#include "models/parts.h"
#include "models/rope.h"
#include "nn/mlp.h"

namespace ingle {
namespace {

struct Layer {
  Attention attn;
  AttentionShape shape;
  Norm attn_norm;  // behind attention and what it is added to
  std::variant<Mlp, GatedMlp> mlp;
  Norm mlp_norm;
};

class Bert : public ModelGraph {
 public:
  Bert(const Hparams& h, const Weights& w);

  const Hparams& hparams() const noexcept override { return h_; }
  std::span<const KvGroup> kv_groups() const noexcept override { return groups_; }
  int last_writer() const noexcept override { return static_cast<int>(layers_.size()) - 1; }
  Tensor forward(Ops& op, const Step& step) const override;
  bool has_logits() const noexcept override { return false; }
  Tensor logits(Ops& op, Tensor hidden) const override { return {}; }

 private:
  Hparams h_;
  const Matrix *embed_, *segments_ = nullptr, *positions_ = nullptr;
  Norm embed_norm_;
  Rope rope_;  // turns nothing where positions are learned
  std::vector<Layer> layers_;
  std::vector<KvGroup> groups_;
};

Bert::Bert(const Hparams& h, const Weights& w)
    : h_(h), embed_(w.table("token_embd", h.d_model, h.vocab)), groups_(group_kv_layers(h)) {
  const auto table = [&](const char* name, int64_t& rows) {
    rows = w.has(name) ? w.rows_of(name) : 0;
    return rows > 0 ? w.table(name, h.d_model, rows) : nullptr;
  };
  segments_ = table("token_types", h_.segment_rows);
  positions_ = table("position_embd", h_.position_rows);
  embed_norm_ = w.layer_norm("token_embd_norm", h.d_model, h.norm_eps);
  if (positions_ == nullptr) rope_ = make_rope(h.rope, Rope::Pairs::kHalves, {});
  for (int64_t i = 0; i < h.layer_count(); ++i) {
    const Weights b = w.block(i);
    const LayerHparams& l = h.layers[static_cast<size_t>(i)];
    std::variant<Mlp, GatedMlp> mlp;
    if (b.has("ffn_gate")) {
      mlp = read_gated_mlp(h, b, l.d_ff, Activation::kSilu);
    } else {
      mlp = Mlp{.up = b.linear("ffn_up", h.d_model, l.d_ff), .down = b.linear("ffn_down", l.d_ff, h.d_model)};
    }
    layers_.push_back({.attn = read_attention(h, b, l),
                       .shape = attention_shape(h, l),
                       .attn_norm = b.layer_norm("attn_output_norm", h.d_model, h.norm_eps),
                       .mlp = mlp,
                       .mlp_norm = b.layer_norm("layer_output_norm", h.d_model, h.norm_eps)});
  }
}

Tensor Bert::forward(Ops& op, const Step& step) const {
  op.set_layer(-1);
  Tensor x = op.embed(*embed_, step.batch.tokens);  // [T, d_model]
  if (segments_ != nullptr) op.embed(*segments_, step.batch.segments, {}, {.add_to = x});
  if (positions_ != nullptr) op.embed(*positions_, step.batch.positions, {}, {.add_to = x});
  x = op.norm(embed_norm_, x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    const LayerRows rows = step.need.layer(static_cast<int>(i));
    op.set_layer(static_cast<int>(i));
    step.tap(static_cast<int>(i), x);
    const Tensor residual = rows.out.empty() ? Tensor{} : rows.crop(op, x);
    const Tensor attended = l.attn(op, l.shape, rope_, x, rows, step.kv[i], {.add_to = residual});
    if (rows.out.empty()) return {};  // the last layer that writes, and nobody wants anything
    x = op.norm(l.attn_norm, attended);
    const Tensor sum = std::visit([&](const auto& mlp) { return mlp(op, x, {.add_to = x}); }, l.mlp);
    x = op.end_layer(op.norm(l.mlp_norm, sum));
  }
  op.set_layer(-1);
  return step.need.result().crop(op, x);
}

}  // namespace

std::span<const Architecture> bert_architectures() {
  static constexpr Architecture kRows[] = {
      {"bert", make_graph<Bert>, {.layer_norms = true, .causal = false}},
      {"nomic-bert", make_graph<Bert>, {.layer_norms = true, .causal = false}},
  };
  return kRows;
}

}  // namespace ingle
