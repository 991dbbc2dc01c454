// One tile of online-softmax attention (Milakov and Gimelshein, arXiv:1805.02867): query rows against 64 keys. Scores
// of a few rows at a time are summed in registers; then each row's running maximum, sum of weights and output follow.
// Scores count in powers of two (a query is multiplied by log2 e with its scale), so a weight is 2^(score - maximum).
// A row's result does not depend on which rows are computed with it.
constexpr float kLog2E = 1.44269504088896341f;

// 2^x for x <= 1, to about an ulp: x = n + r, |r| <= 1/2, minimax polynomial for 2^r (relative error 2e-8), exact at 0.
// Below -126 (also -infinity) the result stays at 1.2e-38. NaN stays NaN.
INGLE_INLINE F32 exp2(F32 x) {
  const F32 shift = set1(12582912.0f + 127.0f);  // 1.5 * 2^23: a sum with it has no room for a fraction
  const F32 clamped = max(set1(-126.0f), x);
  const F32 shifted = add(clamped, shift);
  const F32 r = sub(clamped, sub(shifted, shift));
  F32 p = set1(0.00015594677824992687f);
  p = fma(p, r, set1(0.0013406643411144614f));
  p = fma(p, r, set1(0.009617692790925503f));
  p = fma(p, r, set1(0.055503103882074356f));
  p = fma(p, r, set1(0.24022652208805084f));
  p = fma(p, r, set1(0.6931472420692444f));
  p = fma(p, r, set1(1.0f));
  return mul(p, power_of_shifted(shifted));
}

// What a tile does besides products. All keys visible and nothing else is by far the most frequent.
enum class Tile { kOpen, kMasked, kBent };  // kBent: masked, and scores are capped or depend on distance

// x where a row sees keys key .. key + kLanes - 1, elsewhere y.
INGLE_INLINE F32 visible(int start, int limit, int key, F32 x, F32 y) {
  if (limit < key + kLanes) x = select_first(limit - key, x, y);
  if (start > key) x = select_first(start - key, y, x);
  return x;
}

// What soft cap and ALiBi make of a score.
INGLE_INLINE F32 bend(const AttentionTile& t, int row, int key, F32 x) {
  if (t.soft_cap > 0.0f) x = mul(set1(t.soft_cap), tanh(div(x, set1(t.soft_cap))));
  if (t.slope != nullptr) {
    alignas(64) float distance[kLanes];
    for (int i = 0; i < kLanes; ++i) distance[i] = t.distance[row] + static_cast<float>(key + i);
    x = fma(load(distance), set1(t.slope[row]), x);
  }
  return mul(x, set1(kLog2E));
}

// R rows on their way through a tile.
template <int R>
struct RowGroup {
  alignas(64) float scores[R * 64];  // then weights
  alignas(64) float largest[kLanes], shift[kLanes], correction[kLanes], broken[kLanes];
  float scale[R];  // what scores are still to be multiplied by
  int row, start[R], limit[R], first, last;
  Tile tile;
};

// Which keys [first, last) some row sees. Returns whether there are any.
template <int R>
static bool look_at(const AttentionTile& t, int row, RowGroup<R>& g) noexcept {
  g.row = row;
  g.tile = t.soft_cap > 0.0f || t.slope != nullptr ? Tile::kBent : Tile::kOpen;
  g.first = 0, g.last = 64;
  for (int r = 0; r < R; ++r) g.start[r] = 0, g.limit[r] = 64;
  if (t.limit == nullptr) return true;
  g.first = 64, g.last = 0;
  for (int r = 0; r < R; ++r) {
    const int start = g.start[r] = t.start[row + r], limit = g.limit[r] = t.limit[row + r];
    if (g.tile == Tile::kOpen && (start > 0 || limit < 64)) g.tile = Tile::kMasked;
    if (start >= limit) continue;
    g.first = start < g.first ? start : g.first;
    g.last = limit > g.last ? limit : g.last;
  }
  return g.first < g.last;
}

// Vectors of keys at a time: where some are hidden, whole steps of them are left out.
template <Tile kTile>
constexpr int kStepVectors = kTile == Tile::kOpen ? kKeyVectors : 2;

template <class Numbers, int R, Tile kTile>
static void find_scores(const AttentionTile& t, RowGroup<R>& g) noexcept {
  constexpr bool kMasked = kTile != Tile::kOpen, kBent = kTile == Tile::kBent;
  constexpr int kStep = kStepVectors<kTile> * kLanes;
  const int begin = kMasked ? g.first / kStep * kStep : 0, end = kMasked ? g.last : 64;
  for (int key = begin; key < end; key += kStep)
    Numbers::template scores<R, kStepVectors<kTile>>(t, g.row, key, g.scores);
  const F32 hidden = set1(-__builtin_inff());
  for (int r = 0; r < R; ++r) {
    float* s = g.scores + r * 64;
    const float scale = t.q_scale[g.row + r];
    F32 top = hidden;
    for (int key = begin; key < end; key += kLanes) {
      F32 x = load(s + key);
      if constexpr (kBent) x = bend(t, g.row + r, key, mul(x, set1(scale)));
      if constexpr (kMasked) x = visible(g.start[r], g.limit[r], key, x, hidden);
      if constexpr (kBent) store(s + key, x);
      top = max(top, x);
    }
    g.scale[r] = kBent ? 1.0f : scale;
    g.largest[r] = max_of(top) * g.scale[r];
  }
}

// Scores to weights; their sum by lanes joins the older ones'.
template <class Numbers, int R, Tile kTile>
static void find_weights(const AttentionTile& t, RowGroup<R>& g, float broken_values) noexcept {
  constexpr bool kMasked = kTile != Tile::kOpen;
  constexpr int kStep = kStepVectors<kTile> * kLanes;
  const int begin = kMasked ? g.first / kStep * kStep : 0, end = kMasked ? g.last : 64;
  const F32 before = load(t.m + g.row), now = max(load(g.largest), before);
  store_some(t.m + g.row, now, R);
  const F32 finite = max(now, set1(-3.0e38f));  // of a row that has seen nothing: no difference of infinities
  store(g.shift, sub(zero(), finite));
  store(g.correction, exp2(sub(before, finite)));
  store(g.broken, set1(broken_values));
  for (int r = 0; r < R; ++r) {
    float* s = g.scores + r * 64;
    float* sums = t.sums + (g.row + r) * (kSumLanes + t.v_stride);
    F32 total = mul(load(sums), set1(g.correction[r])), top = zero(), all = zero();
    for (int key = begin; key < end; key += kLanes) {
      F32 p = exp2(fma(load(s + key), set1(g.scale[r]), set1(g.shift[r])));
      if constexpr (kMasked) p = visible(g.start[r], g.limit[r], key, p, zero());
      total = add(total, p);
      if constexpr (Numbers::kWeightsHaveScales) {
        p = mul(p, load(Numbers::value_scales(t) + key));
        if constexpr (kMasked) {
          p = visible(g.start[r], g.limit[r], key, p, zero());  // the scale of a hidden key may be anything
          all = add(all, p);
        }
        top = max(top, p);
      }
      store(s + key, p);
    }
    store(sums, total);
    if constexpr (Numbers::kWeightsHaveScales) {
      g.largest[r] = max_of(top);
      if constexpr (kMasked) g.broken[r] = sum(sub(all, all));
    }
  }
}

template <class Numbers, int R>
static void scores_of(const AttentionTile& t, RowGroup<R>& g) noexcept {
  store(g.largest, set1(-__builtin_inff()));
  if (g.tile == Tile::kOpen) return find_scores<Numbers, R, Tile::kOpen>(t, g);
  if (g.tile == Tile::kMasked) return find_scores<Numbers, R, Tile::kMasked>(t, g);
  find_scores<Numbers, R, Tile::kBent>(t, g);
}
template <class Numbers, int R>
static void weights_of(const AttentionTile& t, RowGroup<R>& g, float broken_values) noexcept {
  if (g.tile == Tile::kOpen) return find_weights<Numbers, R, Tile::kOpen>(t, g, broken_values);
  find_weights<Numbers, R, Tile::kMasked>(t, g, broken_values);
}

// Rows from `row` on in groups of R, as many as fit; returns the first that is left.
template <class Numbers, int R>
static int attention_rows(const AttentionTile& t, int row, float broken_values) noexcept {
  RowGroup<R> group;
  for (; row + R <= t.rows; row += R) {
    if (!look_at(t, row, group)) continue;
    scores_of<Numbers>(t, group);
    weights_of<Numbers>(t, group, broken_values);
    Numbers::output(t, group);
  }
  return row;
}

template <class Numbers>
static void attention_tile(const AttentionTile& t) noexcept {
  const float broken_values = Numbers::broken_values(t);
  int row = attention_rows<Numbers, kTileRows>(t, 0, broken_values);
  row = attention_rows<Numbers, 3>(t, row, broken_values);
  attention_rows<Numbers, 1>(t, row, broken_values);
}

template <class Numbers>
constexpr AttentionKernel attention_kernel() {
  return {.query_bytes = Numbers::query_bytes, .query = Numbers::query, .tile = attention_tile<Numbers>};
}

// Adds what later keys have given: both sums of a row lie together.
static void attention_merge(float* m, float* sums, const float* later_m, const float* later_sums, int rows,
                            int64_t v_stride) noexcept {
  const int64_t stride = kSumLanes + v_stride;
  alignas(64) float mine[kLanes], theirs[kLanes];
  for (int row = 0; row < rows; row += kLanes) {
    const int count = rows - row < kLanes ? rows - row : kLanes;
    const F32 a = load(m + row), b = load(later_m + row), top = max(a, b), finite = max(top, set1(-3.0e38f));
    store(mine, exp2(sub(a, finite)));
    store(theirs, exp2(sub(b, finite)));
    store_some(m + row, top, count);
    for (int r = 0; r < count; ++r)
      blend(sums + (row + r) * stride, mine[r], later_sums + (row + r) * stride, theirs[r], stride);
  }
}

// out = the output over the sum of the weights; `sink` (nullptr: none) is one more score, without a value.
static void attention_finish(float m, const float* sums, const float* sink, int64_t v_dim, float* out) noexcept {
  float total = sum(load(sums));
  if (sink != nullptr) {
    alignas(64) float weight[kLanes];
    store(weight, exp2(min(set1(126.0f), set1(*sink * kLog2E - m))));
    total += weight[0];
  }
  const F32 inverse = set1(1.0f / total);
  each_vector(
      v_dim, [&](int64_t i, int count) __attribute__((always_inline)) {
        store_some(out + i, mul(load_some(sums + kSumLanes + i, count), inverse), count);
      });
}
