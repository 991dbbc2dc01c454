// What attention's tile (attention.inl) does in 16-bit integers, straight from the cache (I16Cache in kv_cache.inl): a
// lane adds two products a step, so twice what floats do.
//
// Scores. A key is integers k and a scale, |k| = 32767 over its channels, and so is a query. |sum q k| <= |q| |k| is at
// most about 2^30 for any head size (Cauchy-Schwarz; so is every part of the sum), where rounding adds sqrt(channels) /
// 2 to a length: no sum of 32 bits overflows. Values. A position is integers |v| <= 4095 and a scale. Weights take the
// scale in, w = p * scale, and a row's weights in a block become integers too, the largest 8191: 64 * 4095 * 8191 <
// 2^31. What was not finite has NaN for a scale.
constexpr float kLengthSteps = 32767.0f, kValueSteps = 4095.0f, kWeightSteps = 8191.0f;
constexpr float kSmallest = 1e-30f;  // what is smaller counts as this: inverses stay finite

// What x * factor, as integers of length 32767, is in steps of: `steps` turns x into them. Returns the scale.
INGLE_INLINE float steps_of_length(const float* x, int64_t n, float factor, float& steps) {
  F32 largest = set1(kSmallest);
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        largest = max(largest, abs(mul(load_some(x + i, count), set1(factor))));
      });
  const float amax = max_of(largest), unit = factor / amax;  // squares neither overflow nor vanish
  F32 squares = zero();
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        const F32 v = mul(load_some(x + i, count), set1(unit));
        squares = fma(v, v, squares);
      });
  const float length = __builtin_sqrtf(sum(squares));
  steps = length > 1e-3f ? unit * (kLengthSteps / length) : 0.0f;
  return amax * length / kLengthSteps;
}

// The same with the largest at 4095.
INGLE_INLINE float steps_of_value(const float* x, int64_t n, float& steps) {
  F32 largest = set1(kSmallest), broken = zero();
  each_vector(
      n, [&](int64_t i, int count) __attribute__((always_inline)) {
        const F32 v = load_some(x + i, count);
        largest = max(largest, abs(v));
        broken = add(broken, sub(v, v));
      });
  const float amax = max_of(largest);
  steps = kValueSteps / amax;
  return amax / kValueSteps + sum(broken);
}

// x[0 .. count) in these steps, count <= 2 * kLanes; words behind the last are zeros.
INGLE_INLINE void words_of(const float* x, int count, F32 steps, int16_t* words) {
  const F32 low = load_some(x, count < kLanes ? count : kLanes);
  const F32 high = count > kLanes ? load_some(x + kLanes, count - kLanes) : zero();
  store_words(words, to_int(mul(low, steps)), to_int(mul(high, steps)));
}

// s[r][c] = sum over steps of the pair products of columns a[step][c] with b[r][step].
template <int R, int C>
INGLE_INLINE void pair_products(const uint8_t* a, const int64_t (&a_column)[C], int64_t a_step, const uint8_t* b,
                                int64_t b_row, int64_t steps, I32 (&s)[R][C]) {
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) s[r][c] = set1_int(0);
  }
  for (int64_t i = 0; i < steps; ++i) {
    Bytes columns[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) columns[c] = load_bytes(a + i * a_step + a_column[c]);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Bytes x = broadcast4(b + r * b_row + i * 4);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) {
        s[r][c] = add_pair_product(s[r][c], columns[c], x);
        asm("" : INGLE_REGISTER(s[r][c]));  // stays where it is: otherwise gcc 12 moves sums about, and spills them
      }
    }
  }
}

struct PairNumbers {
  static int64_t pairs(int64_t dim) { return (dim + 1) / 2; }
  static int64_t query_bytes(int64_t k_dim) { return pairs(k_dim) * 4; }
  static void query(const float* q, int64_t k_dim, float factor, uint8_t* out, float* scale) noexcept {
    int16_t* to = reinterpret_cast<int16_t*>(out);
    to[2 * pairs(k_dim) - 1] = 0;  // of an odd head size
    float steps;
    *scale = steps_of_length(q, k_dim, factor, steps);
    alignas(64) int16_t words[2 * kLanes];
    for (int64_t i = 0; i < k_dim; i += 2 * kLanes) {
      const int count = k_dim - i < 2 * kLanes ? static_cast<int>(k_dim - i) : 2 * kLanes;
      words_of(q + i, count, set1(steps), words);
      for (int c = 0; c < count; ++c) to[i + c] = words[c];
    }
  }

  template <int R, int C>
  INGLE_INLINE static void scores(const AttentionTile& t, int row, int key, float* scores) {
    const int64_t steps = pairs(t.k_dim);
    int64_t columns[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) columns[c] = key_place(key, c, steps) * 4;
    I32 s[R][C];
    pair_products<R, C>(t.k, columns, 64, t.q + row * steps * 4, steps * 4, steps, s);
    const float* scale = reinterpret_cast<const float*>(t.k + steps * 64 * 4) + key;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c)
        store(scores + r * 64 + key + c * kLanes, mul(to_float(s[r][c]), load(scale + c * kLanes)));
    }
  }

  static constexpr bool kWeightsHaveScales = true;
  static const float* value_scales(const AttentionTile& t) noexcept {
    return reinterpret_cast<const float*>(t.v + t.v_stride * 64 * 2);
  }
  // NaN if one of the block's 64 values was not finite, otherwise 0.
  static float broken_values(const AttentionTile& t) noexcept {
    F32 broken = zero();
    for (int key = 0; key < 64; key += kLanes) {
      const F32 scale = load(value_scales(t) + key);
      broken = add(broken, sub(scale, scale));
    }
    return sum(broken);
  }

  // `largest` are the rows' largest w; `broken` is added to the unit of their sums.
  template <int R>
  static void output(const AttentionTile& t, const RowGroup<R>& g) noexcept {
    alignas(64) int16_t words[R * 64];
    alignas(64) float to_steps[kLanes], unit[kLanes];
    const F32 top = max(load(g.largest), set1(kSmallest));
    store(to_steps, div(set1(kWeightSteps), top));
    store(unit, fma(top, set1(1.0f / kWeightSteps), load(g.broken)));
    const int first = g.first / (2 * kLanes) * (2 * kLanes);
    for (int r = 0; r < R; ++r) {
      const F32 steps = set1(to_steps[r]);
      for (int key = first; key < g.last; key += 2 * kLanes) {
        const float* w = g.scores + r * 64 + key;
        store_words(words + r * 64 + key, to_int(mul(load(w), steps)), to_int(mul(load(w + kLanes), steps)));
      }
    }
    const int64_t stride = kSumLanes + t.v_stride;
    float* o = t.sums + g.row * stride + kSumLanes;
    each_column_block(
        t.v_stride, [&](int64_t column, auto vectors) __attribute__((always_inline)) {
          constexpr int C = decltype(vectors)::kCount;
          int64_t columns[C];
#pragma GCC unroll 4
          for (int c = 0; c < C; ++c) columns[c] = c * kVectorBytes;
          I32 s[R][C];
          pair_products<R, C>(t.v + (first / 2 * t.v_stride + column) * 4, columns, t.v_stride * 4,
                              reinterpret_cast<const uint8_t*>(words + first), 64 * 2, (g.last + 1) / 2 - first / 2, s);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) {
              float* to = o + r * stride + column + c * kLanes;
              store(to, fma(to_float(s[r][c]), set1(unit[r]), mul(load(to), set1(g.correction[r]))));
            }
          }
        });
  }
};
