#include "models/parts.h"

namespace ingle {
namespace {

// Over a head of `dim` numbers, or over all `heads` at once: the gain has one number for each.
std::optional<Norm> find_head_norm(const Hparams& h, const Weights& b, std::string_view name, int64_t heads,
                                   int64_t dim) {
  return b.find_norm(name, b.elements_of(name) == heads * dim ? heads * dim : dim, h.norm_eps);
}

}  // namespace

Attention read_attention(const Hparams& h, const Weights& b, const LayerHparams& l) {
  const int64_t q_rows = l.heads * l.k_dim, k_rows = l.kv_heads * l.k_dim, v_rows = l.kv_heads * l.v_dim;
  Attention a;
  if (b.has("attn_qkv")) {
    const auto part = [&](int64_t first, int64_t count) {
      return b.linear_part("attn_qkv", h.d_model, q_rows + k_rows + v_rows, first, count);
    };
    a.q = part(0, q_rows);
    a.k = fine(part(q_rows, k_rows));
    a.v = fine(part(q_rows + k_rows, v_rows));
  } else {
    a.q = b.linear("attn_q", h.d_model, q_rows);
    a.k = fine(b.linear("attn_k", h.d_model, k_rows));
    a.v = fine(b.linear("attn_v", h.d_model, v_rows));
  }
  a.o = b.linear("attn_output", l.heads * l.v_dim, h.d_model);
  a.q_norm = find_head_norm(h, b, "attn_q_norm", l.heads, l.k_dim);
  a.k_norm = find_head_norm(h, b, "attn_k_norm", l.kv_heads, l.k_dim);
  if (const std::span<const float> sinks = b.find_vector("attn_sinks", l.heads); !sinks.empty()) a.sinks = sinks.data();
  return a;
}

AttentionShape attention_shape(const Hparams& h, const LayerHparams& l) {
  return {.heads = l.heads,
          .kv_heads = l.kv_heads,
          .scale = l.attention_scale,
          .window = l.window,
          .soft_cap = h.attention_soft_cap,
          .causal = h.causal};
}

GatedMlp read_gated_mlp(const Hparams& h, const Weights& b, int64_t d_ff, Activation activation,
                        std::string_view suffix) {
  const auto name = [&](std::string_view part) { return fmt::format("ffn_{}{}", part, suffix); };
  const std::string gate = name("gate"), up = name("up");
  const bool both = !b.has(gate);
  return {.gate = both ? b.linear_part(up, h.d_model, 2 * d_ff, 0, d_ff) : b.linear(gate, h.d_model, d_ff),
          .up = both ? b.linear_part(up, h.d_model, 2 * d_ff, d_ff, d_ff) : b.linear(up, h.d_model, d_ff),
          .down = b.linear(name("down"), d_ff, h.d_model),
          .activation = activation};
}

FeedForward read_feed_forward(const Hparams& h, const Weights& b, const LayerHparams& l, Activation activation) {
  if (h.experts > 0) return read_experts(h, b, activation);
  return read_gated_mlp(h, b, l.d_ff, activation);
}

}  // namespace ingle
