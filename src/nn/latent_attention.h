// Attention whose keys and values come from one short latent row per position (DeepSeek-V2, arXiv:2405.04434,
// section 2.1), in its absorbed form: the matrix that would make a head's keys of the latent row is applied to the
// head's query instead, the one that would make its values to the head's result. So the cache holds a row per position
// and not one per head, and to attention it is a single key head that all query heads share: what turns with the
// position, then the latent row; its value is the latent row once more. (The row lies in the cache twice, as key and as
// value: what the cache's blocks and attention's kernels know. It takes 1.9 times what one copy would, and a tenth of
// keys and values of 16 heads.)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace ingle {

struct LatentAttention {
  std::optional<Linear> q_short;  // d_model -> a short row, normed, from which queries are made; without it: from x
  std::optional<Norm> q_norm;
  Linear q;                  // -> heads * (plain + turned)
  Linear kv;                 // d_model -> rank + turned: the latent row, and the part of all keys that turns
  Norm kv_norm;              // of the latent row
  std::vector<Linear> k, v;  // per head: plain -> rank, rank -> value
  Linear o;                  // heads * value -> d_model
  int64_t heads = 0, plain = 0, turned = 0, rank = 0;
  float scale = 1;

  // As Attention: all rows that come in are written, those that go on come out.
  Tensor operator()(Ops& op, const Rope& rope, Tensor x, const LayerRows& rows, const KvLayer& cache,
                    Into into = {}) const {
    const Tensor both = Ops::split_heads(op.linear(kv, x), 1);              // [in, 1, rank + turned]
    const Tensor latent = op.norm(kv_norm, op.columns({{both, 0, rank}}));  // [in, 1, rank]
    const Tensor key = op.columns({{both, rank, turned}, {latent, 0, rank}});
    op.rope(key, rows.in.positions, rope);
    op.append(cache, key, latent, rows.in);
    if (rows.out.empty()) return {};
    Tensor asking = rows.crop(op, x);
    if (q_short) asking = op.norm(*q_norm, op.linear(*q_short, asking));
    const Tensor queries = Ops::split_heads(op.linear(q, asking), heads);             // [out, heads, plain + turned]
    const Tensor absorbed = op.linear_by_head(k, op.columns({{queries, 0, plain}}));  // [out, heads, rank]
    const Tensor query = op.columns({{queries, plain, turned}, {absorbed, 0, rank}});
    op.rope(query, rows.out.positions, rope);
    const Tensor attended = op.attention(query, cache, rows.out, {.scale = scale});  // [out, heads * rank]
    Tensor values = op.linear_by_head(v, Ops::split_heads(attended, heads));         // [out, heads, value]
    values.shape = {values.rows(), values.row_size()};
    return op.linear(o, values, into);
  }
};

}  // namespace ingle
