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
};

struct Attention {
  Linear q, k, v, o;                   // q: d_model -> heads * k_dim; k, v: d_model -> kv_heads * k_dim, v_dim
  std::optional<Norm> q_norm, k_norm;  // per head

  // K and V of every row that comes in are written; only rows somebody still needs go on: [rows.in, d_model] ->
  // [rows.out, d_model]. No tensor when no row goes on: the cache was all this batch was for.
  Tensor operator()(Ops& op, const AttentionShape& s, const Rope& rope, Tensor x, const LayerRows& rows,
                    const KvLayer& kv, Into into = {}) const {
    Tensor qs, ks, vs;
    if (rows.out.empty()) {
      op.linears({{&k, x}, {&v, x}}, {&ks, &vs});
    } else {
      op.linears({{&q, rows.crop(op, x)}, {&k, x}, {&v, x}}, {&qs, &ks, &vs});
    }
    ks = Ops::split_heads(ks, s.kv_heads);  // [in, kv_heads, k_dim]
    vs = Ops::split_heads(vs, s.kv_heads);
    if (k_norm) ks = op.norm(*k_norm, ks);
    op.rope(ks, rows.in.positions, rope);
    op.append(kv, ks, vs, rows.in);
    if (rows.out.empty()) return {};
    qs = Ops::split_heads(qs, s.heads);  // [out, heads, k_dim]
    if (q_norm) qs = op.norm(*q_norm, qs);
    op.rope(qs, rows.out.positions, rope);
    return op.linear(o, op.attention(qs, kv, rows.out, {.scale = s.scale, .window = s.window}), into);
  }
};

}  // namespace ingle
