// The float product: weights of F32, F16, BF16 (or decoded to F32 for --exact) as [k][panel rows], activations as they
// are.
INGLE_INLINE F32 load_weight(const float* p) { return load(p); }
struct HalfWeight {
  uint16_t bits;
};
struct BfloatWeight {
  uint16_t bits;
};
INGLE_INLINE F32 load_weight(const HalfWeight* p) { return load_half(&p->bits); }
INGLE_INLINE F32 load_weight(const BfloatWeight* p) { return load_bfloat(&p->bits); }

template <class Weight>
static void expand_floats(const uint8_t* panel, int64_t k, float* expanded) noexcept {
  const Weight* w = reinterpret_cast<const Weight*>(panel);
  for (int64_t i = 0; i < k * kPanelRows; i += kLanes) store(expanded + i, load_weight(w + i));
}

// Sums run in chunks of 128 k whose totals are added: rounding grows with the number of chunks, not of k.
constexpr int64_t kFloatChunk = 128;

template <class Weight>
static void float_gemv(const uint8_t* panel, int64_t k, const float* x, float* acc) noexcept {
  const Weight* w = reinterpret_cast<const Weight*>(panel);
  F32 total[kPanelVectors];
  for (int v = 0; v < kPanelVectors; ++v) total[v] = zero();
  for (int64_t begin = 0; begin < k; begin += kFloatChunk) {
    const int64_t end = begin + kFloatChunk < k ? begin + kFloatChunk : k;
    F32 sum[kPanelVectors];
    for (int v = 0; v < kPanelVectors; ++v) sum[v] = zero();
    for (int64_t i = begin; i < end; ++i, w += kPanelRows) {
      __builtin_prefetch(reinterpret_cast<const char*>(w) + 2048);
      const F32 xs = set1(x[i]);
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) sum[v] = fma(load_weight(w + v * kLanes), xs, sum[v]);
    }
    for (int v = 0; v < kPanelVectors; ++v) total[v] = add(total[v], sum[v]);
  }
  for (int v = 0; v < kPanelVectors; ++v) store(acc + v * kLanes, total[v]);
}

// `resume` adds to acc; k slices must be multiples of kFloatChunk so that the order of sums stays that of float_gemv.
template <int Y>
static void float_tile(const float* w, int64_t k, const float* x, int64_t x_stride, float* acc, bool resume) noexcept {
  if (!resume) {
    for (int i = 0; i < Y * kPanelRows; i += kLanes) store(acc + i, zero());
  }
  for (int64_t begin = 0; begin < k; begin += kFloatChunk) {
    const int64_t end = begin + kFloatChunk < k ? begin + kFloatChunk : k;
    F32 sum[Y][kPanelVectors];
#pragma GCC unroll 16
    for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) sum[y][v] = zero();
    }
    for (int64_t i = begin; i < end; ++i, w += kPanelRows) {
      F32 weight[kPanelVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) weight[v] = load(w + v * kLanes);
#pragma GCC unroll 16
      for (int y = 0; y < Y; ++y) {
        const F32 xs = set1(x[y * x_stride + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) sum[y][v] = fma(weight[v], xs, sum[y][v]);
      }
    }
#pragma GCC unroll 16
    for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) {
        float* p = acc + y * kPanelRows + v * kLanes;
        store(p, add(load(p), sum[y][v]));
      }
    }
  }
}

template <class Weight>
constexpr FloatFormat float_format(DType type, const char* name) {
  return {.type = type, .name = name, .expand = expand_floats<Weight>, .gemv = float_gemv<Weight>};
}
