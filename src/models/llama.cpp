// Models of one residual stream to which every layer adds attention and then a feed-forward block: Llama and its many
// relatives. They differ in numbers, and in parts that are there when the file has them: norms before and behind,
// biases, norms of q and k, sinks, windows with or without a rope of their own, experts. Rows of a table tell the rest.
#include "models/architecture.h"
#include "models/parts.h"
#include "models/rope.h"
#include "nn/output_head.h"
#include "nn/residual.h"

namespace ingle {
namespace {

// What no weight and no key says.
struct Variant {
  Rope::Pairs pairs = Rope::Pairs::kHalves;
  Activation activation = Activation::kSilu;
  bool late_name = false;  // the norm before the feed-forward block is called post_attention_norm
};

struct Layer {
  std::optional<Norm> attn_norm;
  Attention attn;
  AttentionShape shape;
  Residual attn_result;
  std::optional<Norm> mlp_norm;
  FeedForward mlp;
  Residual mlp_result;
};

class Llama : public ModelGraph {
 public:
  Llama(const Hparams& h, const Weights& w, Variant variant);

  const Hparams& hparams() const noexcept override { return h_; }
  std::span<const KvGroup> kv_groups() const noexcept override { return groups_; }
  int last_writer() const noexcept override { return static_cast<int>(layers_.size()) - 1; }
  Tensor forward(Ops& op, const Step& step) const override;
  Tensor logits(Ops& op, Tensor hidden) const override { return head_(op, hidden); }

 private:
  Hparams h_;
  const Matrix* embed_;
  Ropes ropes_;
  std::vector<Layer> layers_;
  Norm out_norm_;
  OutputHead head_;
  std::vector<KvGroup> groups_;
};

Llama::Llama(const Hparams& h, const Weights& w, Variant variant)
    : h_(h),
      embed_(w.table("token_embd", h.d_model, h.vocab)),
      ropes_(h, w, variant.pairs),
      groups_(group_kv_layers(h)) {
  for (int64_t i = 0; i < h.layer_count(); ++i) {
    const Weights b = w.block(i);
    const LayerHparams& l = h.layers[static_cast<size_t>(i)];
    const auto norm = [&](const char* name) { return b.find_norm(name, h.d_model, h.norm_eps); };
    const char* attn_out_norm = variant.late_name ? "" : "post_attention_norm";
    // What has no norm behind it needs one before.
    const auto norm_before = [&](const char* name, const char* behind) {
      return b.has(behind) ? norm(name) : b.norm(name, h.d_model, h.norm_eps);
    };
    layers_.push_back({.attn_norm = norm_before("attn_norm", attn_out_norm),
                       .attn = read_attention(h, b, l),
                       .shape = attention_shape(h, l),
                       .attn_result = {norm(attn_out_norm), h.residual_scale},
                       .mlp_norm = norm_before(variant.late_name ? "post_attention_norm" : "ffn_norm", "post_ffw_norm"),
                       .mlp = read_feed_forward(h, b, l, variant.activation),
                       .mlp_result = {norm("post_ffw_norm"), h.residual_scale}});
  }
  out_norm_ = w.norm("output_norm", h.d_model, h.norm_eps);
  // Tied when "output" is absent.
  head_ = {fine(w.linear_or("output", "token_embd", h.d_model, h.vocab)), h.logit_soft_cap, h.logit_scale};
}

Tensor Llama::forward(Ops& op, const Step& step) const {
  op.set_layer(-1);
  Tensor x = op.embed(*embed_, step.batch.tokens, {.scale = h_.embedding_scale});  // [T, d_model]
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    const LayerRows rows = step.need.layer(static_cast<int>(i));
    op.set_layer(static_cast<int>(i));
    step.tap(static_cast<int>(i), x);
    const auto attend = [&](Into into) {
      const Tensor normed = l.attn_norm ? op.norm(*l.attn_norm, x) : x;
      return l.attn(op, l.shape, ropes_.of(l.shape.window, step.context), normed, rows, step.kv[i], into);
    };
    if (rows.out.empty()) return attend({});  // the last layer that writes, and nobody wants anything: no tensor
    x = l.attn_result(op, rows.crop(op, x), attend);
    const auto feed = [&](Into into) {
      const Tensor normed = l.mlp_norm ? op.norm(*l.mlp_norm, x) : x;
      return std::visit([&](const auto& mlp) { return mlp(op, normed, into); }, l.mlp);
    };
    x = op.end_layer(l.mlp_result(op, x, feed));
  }
  op.set_layer(-1);
  if (step.need.wanted().empty()) return {};
  return op.norm(out_norm_, step.need.result().crop(op, x));
}

}  // namespace

std::span<const Architecture> llama_architectures() {
  constexpr Variant kAdjacent{.pairs = Rope::Pairs::kAdjacent}, kHalves{};
  constexpr Variant kGelu{.activation = Activation::kGelu};
  constexpr Variant kGptOss{.activation = Activation::kClampedSilu, .late_name = true};
  static constexpr Architecture kRows[] = {
      {"llama", make_graph<Llama, kAdjacent>},   // Llama 1-3, Mistral, Mixtral, SmolLM, SmolLM2
      {"qwen2", make_graph<Llama, kHalves>},     // Qwen2, Qwen2.5
      {"qwen3", make_graph<Llama, kHalves>},     // with norms on each head's q and k
      {"qwen3moe", make_graph<Llama, kHalves>},  // the same, with experts
      {"qwen2moe", make_graph<Llama, kHalves>, {.expert_weights_norm = false}},
      {"gemma", make_graph<Llama, kGelu>, {.embeddings_by_width = true}},  // the first, norms before only
      // Norms before and behind, sliding layers in turn with full ones, caps on scores and logits.
      {"gemma2",
       make_graph<Llama, kGelu>,
       {.window_period = 2,
        .scaled_by_width = 46,  // 27B
        .attention_soft_cap = 50,
        .logit_soft_cap = 30,
        .embeddings_by_width = true}},
      // Norms of q and k instead of caps, a rope of their own for sliding layers.
      {"gemma3",
       make_graph<Llama, kGelu>,
       {.window_period = 6, .scaled_by_width = 62, .embeddings_by_width = true, .windows_differ = true}},
      {"phi3", make_graph<Llama, kHalves>},          // Phi-3, 3.5 and 4-mini: fused matrices, LongRoPE
      {"granite", make_graph<Llama, kAdjacent>},     // factors for embeddings, residuals, scores and logits
      {"granitemoe", make_graph<Llama, kAdjacent>},  // the same, with experts
      {"glm4", make_graph<Llama, kAdjacent>},        // norms before and behind, a part of a head turns
      // OLMo 2: norms behind only, those of q and k over all heads. OLMo 3: sliding layers too, whose rope is not
      // stretched.
      {"olmo2",
       make_graph<Llama, kHalves>,
       {.window_period = 4, .windows_unstretched = true, .whole_attention_factor = true}},
      // Sinks, biases everywhere, sliding layers in turn with full ones.
      {"gpt-oss", make_graph<Llama, kGptOss>, {.window_period = 2, .whole_yarn_pairs = false}},
  };
  return kRows;
}

}  // namespace ingle
