// One tile of online-softmax attention (Milakov and Gimelshein, arXiv:1805.02867): query rows against 64 keys. Scores
// of a few rows at a time stay in registers over k_dim; weights go through a small buffer in L1; each row's running
// maximum, sum and output are updated. A row's result does not depend on which rows are computed with it.
constexpr int kKeyVectors = kLanes == 16 ? 4 : 2;  // vectors of keys at a time
constexpr int kTileRows = kLanes == 4 ? 4 : 6;     // 6 x 4 or 6 x 2 sums in registers
constexpr int kGroupVectors = 16 / kLanes;         // vectors in a group of 16 keys
constexpr int kKeysAtOnce = kKeyVectors * kLanes;

// scores[r][64] of R rows.
template <int R>
INGLE_INLINE void tile_scores(const float* q, const float* k, int64_t k_dim, float* scores) {
  for (int key = 0; key < 64; key += kKeysAtOnce) {
    F32 s[R][kKeyVectors];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kKeyVectors; ++c) s[r][c] = zero();
    }
    for (int64_t d = 0; d < k_dim; ++d) {
      F32 keys[kKeyVectors];
#pragma GCC unroll 4
      for (int c = 0; c < kKeyVectors; ++c) {
        const int vector = key / kLanes + c;
        keys[c] = load(k + ((vector / kGroupVectors) * k_dim + d) * 16 + (vector % kGroupVectors) * kLanes);
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const F32 qs = set1(q[r * k_dim + d]);
#pragma GCC unroll 4
        for (int c = 0; c < kKeyVectors; ++c) s[r][c] = fma(keys[c], qs, s[r][c]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kKeyVectors; ++c) store(scores + r * 64 + key + c * kLanes, s[r][c]);
    }
  }
}

// Turns a row's 64 scores into weights e^(score - m); returns what the older sums are multiplied by.
INGLE_INLINE float tile_softmax(const AttentionTile& t, int row, float* scores) {
  const F32 hidden = set1(-__builtin_inff());
  const int limit = t.limit[row], start = t.start[row];
  F32 largest = hidden;
  F32 s[64 / kLanes];
  for (int c = 0; c < 64 / kLanes; ++c) {
    F32 x = load(scores + c * kLanes);
    if (t.soft_cap > 0.0f) x = mul(set1(t.soft_cap), tanh(div(x, set1(t.soft_cap))));
    if (limit < (c + 1) * kLanes) x = select_first(limit - c * kLanes, x, hidden);
    if (start > c * kLanes) x = select_first(start - c * kLanes, hidden, x);
    s[c] = x;
    largest = max(largest, x);
  }
  const float before = t.m[row];
  const float now = max_of(largest);
  const float m = now > before ? now : before;
  if (m == -__builtin_inff()) {  // nothing visible yet
    for (int c = 0; c < 64 / kLanes; ++c) store(scores + c * kLanes, zero());
    return 1.0f;
  }
  F32 total = zero();
  const F32 shift = set1(m);
  for (int c = 0; c < 64 / kLanes; ++c) {
    F32 p = exp(sub(s[c], shift));
    if (limit < (c + 1) * kLanes) p = select_first(limit - c * kLanes, p, zero());
    if (start > c * kLanes) p = select_first(start - c * kLanes, zero(), p);
    total = add(total, p);
    store(scores + c * kLanes, p);
  }
  float correction = 1.0f;
  if (m != before) {
    alignas(64) float lane[kLanes];
    store(lane, exp(set1(before - m)));
    correction = before == -__builtin_inff() ? 0.0f : lane[0];
  }
  t.m[row] = m;
  t.l[row] = t.l[row] * correction + sum(total);
  return correction;
}

// o = o * correction + weights * V, over keys [first, last).
template <int R>
INGLE_INLINE void tile_output(const float* weights, const float* correction, const float* v, int64_t v_stride,
                              int first, int last, float* o) {
  for (int64_t column = 0; column < v_stride; column += kKeysAtOnce) {
    const int vectors = v_stride - column >= kKeysAtOnce ? kKeyVectors : static_cast<int>((v_stride - column) / kLanes);
    if (vectors == kKeyVectors) {
      F32 a[R][kKeyVectors];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < kKeyVectors; ++c) {
          a[r][c] = mul(load(o + r * v_stride + column + c * kLanes), set1(correction[r]));
        }
      }
      for (int j = first; j < last; ++j) {
        F32 values[kKeyVectors];
#pragma GCC unroll 4
        for (int c = 0; c < kKeyVectors; ++c) values[c] = load(v + j * v_stride + column + c * kLanes);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const F32 p = set1(weights[r * 64 + j]);
#pragma GCC unroll 4
          for (int c = 0; c < kKeyVectors; ++c) a[r][c] = fma(values[c], p, a[r][c]);
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < kKeyVectors; ++c) store(o + r * v_stride + column + c * kLanes, a[r][c]);
      }
    } else {
      for (int c = 0; c < vectors; ++c) {
        F32 a[R];
        for (int r = 0; r < R; ++r) a[r] = mul(load(o + r * v_stride + column + c * kLanes), set1(correction[r]));
        for (int j = first; j < last; ++j) {
          const F32 values = load(v + j * v_stride + column + c * kLanes);
          for (int r = 0; r < R; ++r) a[r] = fma(values, set1(weights[r * 64 + j]), a[r]);
        }
        for (int r = 0; r < R; ++r) store(o + r * v_stride + column + c * kLanes, a[r]);
      }
    }
  }
}

template <int R>
static void attention_rows(const AttentionTile& t, int row) noexcept {
  alignas(64) float weights[R * 64];
  float correction[R];
  int first = 64, last = 0;
  for (int r = row; r < row + R; ++r) {
    const int begin = t.start[r] < 0 ? 0 : t.start[r], end = t.limit[r] > 64 ? 64 : t.limit[r];
    if (begin < end) {
      first = begin < first ? begin : first;
      last = end > last ? end : last;
    }
  }
  if (first >= last) return;  // nothing in this tile is visible
  tile_scores<R>(t.q + row * t.k_dim, t.k, t.k_dim, weights);
  for (int r = 0; r < R; ++r) correction[r] = tile_softmax(t, row + r, weights + r * 64);
  tile_output<R>(weights, correction, t.v, t.v_stride, first, last, t.o + row * t.v_stride);
}

static void attention_tile(const AttentionTile& t) noexcept {
  int row = 0;
  for (; row + kTileRows <= t.rows; row += kTileRows) attention_rows<kTileRows>(t, row);
  for (; row + 3 <= t.rows; row += 3) attention_rows<3>(t, row);
  for (; row < t.rows; ++row) attention_rows<1>(t, row);
}
