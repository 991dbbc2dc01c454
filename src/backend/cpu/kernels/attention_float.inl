// What attention's tile (attention.inl) does in floats: scores of a few rows against 64 keys, and their weighted sum of
// values. Sums stay in registers. K is [4][k_dim][16], V [64][v_stride], a query [k_dim].
constexpr int kKeyVectors = kLanes == 16 ? 4 : 2;  // vectors of keys, or of channels, at a time
constexpr int kTileRows = kLanes == 4 ? 4 : 6;     // 6 x 4 or 6 x 2 sums in registers

template <int N>
struct Vectors {
  static constexpr int kCount = N;
};

// body(column, Vectors<N>) over the channels of a row, as many vectors at a time as there are registers for.
template <class F>
INGLE_INLINE void each_column_block(int64_t v_stride, F&& body) {
  int64_t column = 0;
  for (; column + kKeyVectors * kLanes <= v_stride; column += kKeyVectors * kLanes)
    body(column, Vectors<kKeyVectors>());
  if constexpr (kKeyVectors == 4) {  // otherwise they come out even: v_stride is a multiple of 16
    if (column + 2 * kLanes <= v_stride) {
      body(column, Vectors<2>());
      column += 2 * kLanes;
    }
    if (column < v_stride) body(column, Vectors<1>());
  }
}

// Where vector `key / kLanes + c` of a block's keys stands, counted in its [4][dim][16] numbers (or pairs of them).
INGLE_INLINE int64_t key_place(int key, int c, int64_t dim) {
  const int at = key + c * kLanes;
  return at / 16 * dim * 16 + at % 16;
}

template <int R>
struct RowGroup;  // attention.inl

struct FloatNumbers {
  static int64_t query_bytes(int64_t k_dim) { return k_dim * 4; }
  static void query(const float* q, int64_t k_dim, float factor, uint8_t* out, float* scale) noexcept {
    float* to = reinterpret_cast<float*>(out);
    each_vector(
        k_dim, [&](int64_t i, int count) __attribute__((always_inline)) {
          store_some(to + i, mul(load_some(q + i, count), set1(factor)), count);
        });
    *scale = 1.0f;
  }

  // scores[r][key ...] of R rows and C vectors of keys, but for the rows' scale.
  template <int R, int C>
  INGLE_INLINE static void scores(const AttentionTile& t, int row, int key, float* scores) {
    const float* q = reinterpret_cast<const float*>(t.q) + row * t.k_dim;
    const float* k = reinterpret_cast<const float*>(t.k);
    F32 s[R][C];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) s[r][c] = zero();
    }
    for (int64_t d = 0; d < t.k_dim; ++d) {
      F32 keys[C];
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) keys[c] = load(k + key_place(key, c, t.k_dim) + d * 16);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const F32 x = set1(q[r * t.k_dim + d]);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) s[r][c] = fma(keys[c], x, s[r][c]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) store(scores + r * 64 + key + c * kLanes, s[r][c]);
    }
  }

  // A broken value is in the sum by itself.
  static constexpr bool kWeightsHaveScales = false;
  static float broken_values(const AttentionTile&) noexcept { return 0.0f; }

  // o = o * correction + weights * V.
  template <int R>
  static void output(const AttentionTile& t, const RowGroup<R>& g) noexcept {
    const float* v = reinterpret_cast<const float*>(t.v);
    const int64_t stride = kSumLanes + t.v_stride;
    float* o = t.sums + g.row * stride + kSumLanes;
    each_column_block(
        t.v_stride, [&](int64_t column, auto vectors) __attribute__((always_inline)) {
          constexpr int C = decltype(vectors)::kCount;
          F32 a[R][C];
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
              a[r][c] = mul(load(o + r * stride + column + c * kLanes), set1(g.correction[r]));
          }
          for (int j = g.first; j < g.last; ++j) {
            F32 values[C];
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) values[c] = load(v + j * t.v_stride + column + c * kLanes);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
              const F32 p = set1(g.scores[r * 64 + j]);
#pragma GCC unroll 4
              for (int c = 0; c < C; ++c) a[r][c] = fma(values[c], p, a[r][c]);
            }
          }
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) store(o + r * stride + column + c * kLanes, a[r][c]);
          }
        });
  }
};
