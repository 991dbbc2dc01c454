// DeepSeek V2 and V3: attention over latent rows, a few dense layers and then mixtures whose experts are chosen by
// groups, beside experts that serve every row.
#include <cmath>

#include "base/error.h"
#include "models/architecture.h"
#include "models/parts.h"
#include "models/rope.h"
#include "nn/latent_attention.h"

namespace ingle {
namespace {

struct Sizes {
  int64_t rank, plain, turned, value;
};

struct Layer {
  Norm attn_norm;
  LatentAttention attn;
  Norm mlp_norm;
  FeedForward mlp;
};

// Files have sizes of heads as they are in the paper, or those of the cached row with the others beside them.
Sizes read_sizes(const Hparams& h, const Keys& keys) {
  const LayerHparams& l = h.layers[0];
  const int64_t head = keys.find("attention.key_length_mla", l.k_dim, 1, kMaxExtent);
  const Sizes s{.rank = keys.get("attention.kv_lora_rank", 1, kMaxExtent),
                .plain = head - h.rope.rotated,
                .turned = h.rope.rotated,
                .value = keys.find("attention.value_length_mla", l.v_dim, 1, kMaxExtent)};
  if (s.plain < 1) {
    throw_error(ErrorCode::kInvalidFile, "{}: of a head's {} numbers {} turn with the position, it must be fewer",
                h.file, head, s.turned);
  }
  return s;
}

// The cache as attention uses it: one head that all queries share.
Hparams latent_hparams(Hparams h, const Sizes& s) {
  const double magnitude =
      h.rope.scaling == RopeScaling::kYarn ? yarn_magnitude(h.rope.factor, h.rope.log_multiplier / 0.1) : 1;
  for (LayerHparams& l : h.layers) {
    l.kv_heads = 1;
    l.k_dim = s.turned + s.rank;
    l.v_dim = s.rank;
    l.attention_scale = static_cast<float>(magnitude * magnitude / std::sqrt(static_cast<double>(s.plain + s.turned)));
  }
  return h;
}

// Where the file names the second factor of DeepSeek's ratio the first is the same: scores get it, the rope does not.
Rope latent_rope(const Hparams& h, const Weights& w) {
  Rope rope = make_rope(h.rope, Rope::Pairs::kAdjacent, w.find_vector("rope_freqs", h.rope.rotated / 2));
  if (h.rope.log_multiplier != 0) rope.magnitude = static_cast<float>(h.rope.attention_factor);
  return rope;
}

LatentAttention read_latent_attention(const Hparams& h, const Sizes& s, const Weights& b, const LayerHparams& l) {
  LatentAttention a{.kv = fine(b.linear("attn_kv_a_mqa", h.d_model, s.rank + s.turned)),
                    .kv_norm = b.norm("attn_kv_a_norm", s.rank, h.norm_eps),
                    .o = b.linear("attn_output", l.heads * s.value, h.d_model),
                    .heads = l.heads,
                    .plain = s.plain,
                    .turned = s.turned,
                    .rank = s.rank,
                    .scale = l.attention_scale};
  const int64_t queries = l.heads * (s.plain + s.turned);
  if (b.has("attn_q_a")) {
    const int64_t q_rank = b.rows_of("attn_q_a");
    a.q_short = b.linear("attn_q_a", h.d_model, q_rank);
    a.q_norm = b.norm("attn_q_a_norm", q_rank, h.norm_eps);
    a.q = b.linear("attn_q_b", q_rank, queries);
  } else {
    a.q = b.linear("attn_q", h.d_model, queries);
  }
  if (!b.has("attn_kv_b")) {
    a.k = b.linears("attn_k_b", l.heads, s.plain, s.rank);
    a.v = b.linears("attn_v_b", l.heads, s.rank, s.value);
    return a;
  }
  // Of each head the rows that make keys of a latent row, then those that make values.
  const int64_t each = s.plain + s.value;
  for (int64_t i = 0; i < l.heads; ++i) {
    a.k.push_back(b.transposed_part("attn_kv_b", s.rank, l.heads * each, i * each, s.plain));
    a.v.push_back(b.linear_part("attn_kv_b", s.rank, l.heads * each, i * each + s.plain, s.value));
  }
  return a;
}

class DeepSeek : public ModelGraph {
 public:
  DeepSeek(const Hparams& h, const Weights& w) : DeepSeek(h, w, read_sizes(h, Keys(w.file(), h.architecture))) {}

  const Hparams& hparams() const noexcept override { return h_; }
  std::span<const KvGroup> kv_groups() const noexcept override { return groups_; }
  int last_writer() const noexcept override { return static_cast<int>(layers_.size()) - 1; }
  Tensor forward(Ops& op, const Step& step) const override;
  Tensor logits(Ops& op, Tensor hidden) const override { return op.linear(head_, hidden); }

 private:
  DeepSeek(const Hparams& h, const Weights& w, const Sizes& s);

  Hparams h_;
  const Matrix* embed_;
  Rope rope_;
  std::vector<Layer> layers_;
  Norm out_norm_;
  Linear head_;
  std::vector<KvGroup> groups_;
};

DeepSeek::DeepSeek(const Hparams& h, const Weights& w, const Sizes& s)
    : h_(latent_hparams(h, s)),
      embed_(w.table("token_embd", h.d_model, h.vocab)),
      rope_(latent_rope(h, w)),
      groups_(group_kv_layers(h_)) {
  const int64_t dense = Keys(w.file(), h.architecture).find("leading_dense_block_count", 0, 0, h.layer_count());
  for (int64_t i = 0; i < h.layer_count(); ++i) {
    const Weights b = w.block(i);
    const LayerHparams& l = h_.layers[static_cast<size_t>(i)];
    Layer layer{.attn_norm = b.norm("attn_norm", h.d_model, h.norm_eps),
                .attn = read_latent_attention(h, s, b, l),
                .mlp_norm = b.norm("ffn_norm", h.d_model, h.norm_eps),
                .mlp = {}};
    if (i < dense) {
      layer.mlp = read_gated_mlp(h, b, l.d_ff, Activation::kSilu);
    } else {
      layer.mlp = read_feed_forward(h, b, l, Activation::kSilu);
    }
    layers_.push_back(std::move(layer));
  }
  out_norm_ = w.norm("output_norm", h.d_model, h.norm_eps);
  head_ = fine(w.linear_or("output", "token_embd", h.d_model, h.vocab));
}

Tensor DeepSeek::forward(Ops& op, const Step& step) const {
  op.set_layer(-1);
  Tensor x = op.embed(*embed_, step.batch.tokens);  // [T, d_model]
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    const LayerRows rows = step.need.layer(static_cast<int>(i));
    op.set_layer(static_cast<int>(i));
    step.tap(static_cast<int>(i), x);
    const Tensor residual = rows.out.empty() ? Tensor{} : rows.crop(op, x);
    x = l.attn(op, rope_, op.norm(l.attn_norm, x), rows, step.kv[i], {.add_to = residual});
    if (rows.out.empty()) return {};  // the last layer that writes, and nobody wants anything
    const Tensor normed = op.norm(l.mlp_norm, x);
    x = op.end_layer(std::visit([&](const auto& mlp) { return mlp(op, normed, {.add_to = x}); }, l.mlp));
  }
  op.set_layer(-1);
  if (step.need.wanted().empty()) return {};
  return op.norm(out_norm_, step.need.result().crop(op, x));
}

}  // namespace

std::span<const Architecture> deepseek2_architectures() {
  static constexpr Architecture kRows[] = {
      {"deepseek2", make_graph<DeepSeek>, {.expert_weights_norm = false, .both_directions = false, .windows = false}},
  };
  return kRows;
}

}  // namespace ingle
