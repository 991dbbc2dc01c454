// Grouped-query attention with rotary positions, written once over backend ops.
#pragma once

#include <optional>

#include "backend/backend.h"

namespace ingle {

struct AttentionShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  float scale = 1.0f;
  int32_t window = 0;  // 0: none
  float soft_cap = 0;  // of scores; 0: none
  bool causal = true;  // false: every row of a step sees all of its sequence
};

struct Attention {
  Linear q;                                    // d_model -> heads * k_dim
  std::optional<Linear> k, v;                  // d_model -> kv_heads * k_dim, v_dim. Without k: the cache is another
                                               // layer's, to be read only. Without v: the values are k's own rows.
  Linear o;                                    // heads * v_dim -> d_model
  std::optional<Norm> q_norm, k_norm, v_norm;  // per head; q's and k's over all heads at once if they are that long
  const float* sinks = nullptr;                // [heads] or none: AttentionOptions

  // K and V of every row that comes in are written; only rows somebody still needs go on: [rows.in, d_model] ->
  // [rows.out, d_model]. No tensor when no row goes on: the cache was all this batch was for.
  Tensor operator()(Ops& op, const AttentionShape& s, const Rope& rope, Tensor x, const LayerRows& rows,
                    const KvLayer& kv, Into into = {}) const {
    const Tensor asking = rows.out.empty() ? Tensor{} : rows.crop(op, x);
    Tensor qs, ks, vs;
    project(op, asking, x, qs, ks, vs);
    if (k) {
      vs = Ops::split_heads(v ? vs : ks, s.kv_heads);
      if (v_norm) vs = op.norm(*v_norm, vs);
      ks = heads_of(op, ks, s.kv_heads, k_norm);  // [in, kv_heads, k_dim]
      op.append(kv, ks, vs, rows.in, &rope);
    }
    if (rows.out.empty()) return {};
    qs = heads_of(op, qs, s.heads, q_norm);  // [out, heads, k_dim]
    op.rope(qs, rows.out.positions, rope);
    const AttentionOptions options{.scale = s.scale,
                                   .window = s.window,
                                   .soft_cap = s.soft_cap,
                                   .sinks = sinks,
                                   .whole = s.causal ? nullptr : &rows.in};
    return op.linear(o, op.attention(qs, kv, rows.out, options), into);
  }

 private:
  // [rows, heads * dim] -> [rows, heads, dim], normed.
  static Tensor heads_of(Ops& op, Tensor x, int64_t heads, const std::optional<Norm>& norm) {
    if (!norm) return Ops::split_heads(x, heads);
    if (norm->size == x.row_size()) return Ops::split_heads(op.norm(*norm, x), heads);
    return op.norm(*norm, Ops::split_heads(x, heads));
  }
  // What there is of q, k and v as one operation: they share one quantised input.
  void project(Ops& op, Tensor asking, Tensor x, Tensor& qs, Tensor& ks, Tensor& vs) const {
    const bool ask = asking.data != nullptr;
    if (ask && k && v) return op.linears({{&q, asking}, {&*k, x}, {&*v, x}}, {&qs, &ks, &vs});
    if (ask && k) return op.linears({{&q, asking}, {&*k, x}}, {&qs, &ks});
    if (k && v) return op.linears({{&*k, x}, {&*v, x}}, {&ks, &vs});
    if (k) ks = op.linear(*k, x);
    if (ask) qs = op.linear(q, asking);
  }
};

}  // namespace ingle
