// Everything that goes over numbers one by one. Tails shorter than a vector take the same code on a padded copy, so a
// number's result does not depend on where it stands.
template <class F>
INGLE_INLINE void each_vector(int64_t n, F&& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
  if (i < n) body(i, static_cast<int>(n - i));
}
INGLE_INLINE F32 load_some(const float* p, int count) {
  if (count == kLanes) return load(p);
  alignas(64) float padded[kLanes] = {};
  for (int i = 0; i < count; ++i) padded[i] = p[i];
  return load(padded);
}
INGLE_INLINE F32 set_some(float x, int count) {
  if (count == kLanes) return set1(x);
  alignas(64) float padded[kLanes] = {};
  for (int i = 0; i < count; ++i) padded[i] = x;
  return load(padded);
}
INGLE_INLINE void store_some(float* p, F32 x, int count) {
  if (count == kLanes) return store(p, x);
  alignas(64) float padded[kLanes];
  store(padded, x);
  for (int i = 0; i < count; ++i) p[i] = padded[i];
}

// e^x to about 2 units in the last place: x = n ln 2 + r, |r| <= ln 2 / 2, Taylor polynomial of degree 7 for e^r, times
// 2^n. Below -87.33 (also -infinity) the result stays at 1.2e-38, above 88.37 at the largest power. NaN stays NaN: min
// and max give their second operand where one is none.
INGLE_INLINE F32 exp(F32 x) {
  const F32 low = set1(-87.33654f);
  const F32 clamped = min(set1(88.37626f), max(low, x));
  const F32 n = round(mul(clamped, set1(1.44269504088896341f)));
  F32 r = fma(n, set1(-0.693359375f), clamped);
  r = fma(n, set1(2.12194440e-4f), r);
  F32 p = set1(1.0f / 5040.0f);
  p = fma(p, r, set1(1.0f / 720.0f));
  p = fma(p, r, set1(1.0f / 120.0f));
  p = fma(p, r, set1(1.0f / 24.0f));
  p = fma(p, r, set1(1.0f / 6.0f));
  p = fma(p, r, set1(0.5f));
  p = fma(p, r, set1(1.0f));
  p = fma(p, r, set1(1.0f));
  return scale_by_power(p, n);
}
INGLE_INLINE F32 sigmoid(F32 x) { return div(set1(1.0f), add(set1(1.0f), exp(sub(zero(), x)))); }
// tanh(x) = 1 - 2 / (1 + e^2x); near zero, where that cancels, its series x - x^3/3 + 2x^5/15 - 17x^7/315.
INGLE_INLINE F32 tanh(F32 x) {
  const F32 far = sub(set1(1.0f), div(set1(2.0f), add(set1(1.0f), exp(add(x, x)))));
  // Cut to where it is used: a large series value would take the digits of `far` with it in the blend below.
  const F32 small = min(max(x, set1(-0.125f)), set1(0.125f));
  const F32 x2 = mul(small, small);
  F32 p = set1(-17.0f / 315.0f);
  p = fma(p, x2, set1(2.0f / 15.0f));
  p = fma(p, x2, set1(-1.0f / 3.0f));
  p = fma(p, x2, set1(1.0f));
  const F32 near = mul(p, small);
  // min(1, max(0, (|x| - 0.1) * large)) is 0 below 0.1 and 1 above it, but for a sliver where both agree.
  const F32 weight = min(set1(1.0f), max(zero(), mul(sub(abs(x), set1(0.1f)), set1(1e6f))));
  return fma(weight, sub(far, near), near);
}

// Rows of a strided block; n numbers a row.
static void store_rows(const float* acc, int64_t acc_stride, const float* bias, int64_t rows, int64_t n, float* dst,
                       int64_t dst_stride, bool accumulate) noexcept {
  for (int64_t r = 0; r < rows; ++r, acc += acc_stride, dst += dst_stride) {
    each_vector(
        n, [&](int64_t i, int count) __attribute__((always_inline)) {
          F32 x = load_some(acc + i, count);
          if (bias != nullptr) x = add(x, load_some(bias + i, count));
          if (accumulate) x = add(load_some(dst + i, count), x);
          store_some(dst + i, x, count);
        });
  }
}
static void silu_mul(const float* gate, const float* up, int64_t stride, int64_t rows, int64_t n, float* dst,
                     int64_t dst_stride) noexcept {
  for (int64_t r = 0; r < rows; ++r, gate += stride, up += stride, dst += dst_stride) {
    each_vector(
        n, [&](int64_t i, int count) __attribute__((always_inline)) {
          const F32 g = load_some(gate + i, count);
          store_some(dst + i, mul(mul(g, sigmoid(g)), load_some(up + i, count)), count);
        });
  }
}
// gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), Hendrycks and Gimpel, arXiv:1606.08415.
static void gelu_mul(const float* gate, const float* up, int64_t stride, int64_t rows, int64_t n, float* dst,
                     int64_t dst_stride) noexcept {
  for (int64_t r = 0; r < rows; ++r, gate += stride, up += stride, dst += dst_stride) {
    each_vector(
        n, [&](int64_t i, int count) __attribute__((always_inline)) {
          const F32 g = load_some(gate + i, count);
          const F32 inner = mul(set1(0.79788456080286536f), fma(mul(mul(g, g), g), set1(0.044715f), g));
          const F32 gelu = mul(mul(set1(0.5f), g), add(set1(1.0f), tanh(inner)));
          store_some(dst + i, mul(gelu, load_some(up + i, count)), count);
        });
  }
}
// g sigmoid(1.702 g) (u + 1) of a gate g of at most 7 and a u within 7 of zero.
static void clamped_silu_mul(const float* gate, const float* up, int64_t stride, int64_t rows, int64_t n, float* dst,
                             int64_t dst_stride) noexcept {
  const F32 most = set1(7.0f), one = set1(1.0f);
  for (int64_t r = 0; r < rows; ++r, gate += stride, up += stride, dst += dst_stride) {
    each_vector(
        n, [&](int64_t i, int count) __attribute__((always_inline)) {
          const F32 g = min(most, load_some(gate + i, count));
          const F32 u = min(most, max(sub(zero(), most), load_some(up + i, count)));
          store_some(dst + i, mul(mul(g, sigmoid(mul(set1(1.702f), g))), add(u, one)), count);
        });
  }
}
static void rms_norm(const float* x, const float* gain, int64_t n, float eps, float* dst, bool accumulate) noexcept {
  F32 squares = zero();
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        const F32 v = load_some(x + i, count);
        squares = fma(v, v, squares);
      });
  const F32 factor = set1(1.0f / __builtin_sqrtf(sum(squares) / static_cast<float>(n) + eps));
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        F32 v = mul(load_some(x + i, count), factor);
        if (gain != nullptr) v = mul(v, load_some(gain + i, count));
        if (accumulate) v = add(load_some(dst + i, count), v);
        store_some(dst + i, v, count);
      });
}
static void layer_norm(const float* x, const float* gain, const float* bias, int64_t n, float eps, float* dst,
                       bool accumulate) noexcept {
  F32 total = zero();
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) { total = add(total, load_some(x + i, count)); });
  const float first = sum(total) / static_cast<float>(n);
  // What pads a tail must not count as a distance from the mean. What the distances add up to is what rounding kept
  // from the mean: far from zero that is more than the last digit.
  F32 squares = zero(), rest = zero();
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        const F32 v = sub(load_some(x + i, count), set_some(first, count));
        squares = fma(v, v, squares);
        rest = add(rest, v);
      });
  const float off = sum(rest) / static_cast<float>(n);
  const float variance = sum(squares) / static_cast<float>(n) - off * off;
  const F32 factor = set1(1.0f / __builtin_sqrtf((variance > 0.0f ? variance : 0.0f) + eps));
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        F32 v = mul(sub(sub(load_some(x + i, count), set1(first)), set1(off)), factor);
        if (gain != nullptr) v = mul(v, load_some(gain + i, count));
        if (bias != nullptr) v = add(v, load_some(bias + i, count));
        if (accumulate) v = add(load_some(dst + i, count), v);
        store_some(dst + i, v, count);
      });
}
static void scale_all(float* x, int64_t n, float factor) noexcept {
  each_vector(
      n, [&](int64_t i, int count)
             __attribute__((always_inline)) { store_some(x + i, mul(load_some(x + i, count), set1(factor)), count); });
}
static void multiply_all(float* x, const float* by, int64_t n) noexcept {
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        store_some(x + i, mul(load_some(x + i, count), load_some(by + i, count)), count);
      });
}
static void soft_cap_all(float* x, int64_t n, float cap) noexcept {
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        store_some(x + i, mul(set1(cap), tanh(div(load_some(x + i, count), set1(cap)))), count);
      });
}
// gelu(x) = max(x, 0) - |x| erfc(z) / 2, z = |x| / sqrt 2: so the small values of negative numbers keep their digits.
// erfc(z) = t e^(p(t) - z^2), t = 1 / (1 + z / 2), to 5e-8 (p: Chebyshev fit up to z = 9.4, where erfc leaves floats).
static void gelu_all(float* x, int64_t n) noexcept {
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        const F32 v = load_some(x + i, count);
        const F32 size = min(abs(v), set1(20.0f));
        const F32 z = mul(size, set1(0.70710678118654752f));
        const F32 t = div(set1(1.0f), fma(z, set1(0.5f), set1(1.0f)));
        F32 p = set1(0.139546822f);
        p = fma(p, t, set1(-0.651341437f));
        p = fma(p, t, set1(1.0869086f));
        p = fma(p, t, set1(-0.602669231f));
        p = fma(p, t, set1(-0.158279967f));
        p = fma(p, t, set1(0.0430634452f));
        p = fma(p, t, set1(0.0202513588f));
        p = fma(p, t, set1(0.389675441f));
        p = fma(p, t, set1(0.998275166f));
        p = fma(p, t, set1(-1.26543015f));
        const F32 below = mul(mul(set1(0.5f), t), exp(sub(p, mul(z, z))));  // the share of normal numbers beyond |x|
        store_some(x + i, sub(max(zero(), v), mul(size, below)), count);
      });
}
static void blend(float* a, float a_factor, const float* b, float b_factor, int64_t n) noexcept {
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        const F32 scaled = mul(load_some(b + i, count), set1(b_factor));
        store_some(a + i, fma(load_some(a + i, count), set1(a_factor), scaled), count);
      });
}

static void rope_adjacent(float* x, const float* cos, const float* sin, int64_t pairs) noexcept {
  int64_t i = 0;
  for (; i + kLanes / 2 <= pairs; i += kLanes / 2) {
    const F32 v = load(x + 2 * i);
    store(x + 2 * i, sub_add(mul(v, load_doubled(cos + i)), mul(swap_pairs(v), load_doubled(sin + i))));
  }
  for (; i < pairs; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = b * cos[i] + a * sin[i];
  }
}
static void rope_halves(float* x, const float* cos, const float* sin, int64_t pairs) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= pairs; i += kLanes) {
    const F32 a = load(x + i), b = load(x + pairs + i), c = load(cos + i), s = load(sin + i);
    store(x + i, sub(mul(a, c), mul(b, s)));
    store(x + pairs + i, add(mul(b, c), mul(a, s)));
  }
  for (; i < pairs; ++i) {
    const float a = x[i], b = x[pairs + i];
    x[i] = a * cos[i] - b * sin[i];
    x[pairs + i] = b * cos[i] + a * sin[i];
  }
}

static void half_to_float(const uint16_t* src, float* dst, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(dst + i, load_half(src + i));
  for (; i < n; ++i) dst[i] = f16_to_f32(src[i]);
}
static void float_to_half(const float* src, uint16_t* dst, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_half(dst + i, load(src + i));
  for (; i < n; ++i) dst[i] = f32_to_f16(src[i]);
}
