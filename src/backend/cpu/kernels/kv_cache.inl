// How keys and values lie in a cache block, one struct a type. A head's K part is [4][k_dim][16]: groups of 16
// positions, so that one load takes a channel of 16 keys. Its V part is [64][v_stride], v_stride = v_dim rounded up
// to 16. q8_0 and q4_0 add f16 scales per position and 32 channels behind the bytes. Attention works on float tiles of
// the same order, which expand_* makes from a block; only where K and V are both i16 it reads the block itself.
INGLE_INLINE int64_t v_stride_of(int64_t v_dim) { return (v_dim + 15) / 16 * 16; }

// Appends row by row, for a type that says how one is.
template <class Cache>
struct RowByRow {
  static void append_k(const float* k, int64_t stride, int rows, int64_t dim, int position, uint8_t* block) noexcept {
    for (int r = 0; r < rows; ++r) Cache::append_key(k + r * stride, dim, position + r, block);
  }
  static void append_v(const float* v, int64_t stride, int rows, int64_t dim, int position, uint8_t* block) noexcept {
    for (int r = 0; r < rows; ++r) Cache::append_value(v + r * stride, dim, position + r, block);
  }
};

struct FloatCache : RowByRow<FloatCache> {
  static constexpr bool kPairs = false;
  static size_t k_bytes(int64_t dim) { return static_cast<size_t>(dim) * 64 * 4; }
  static size_t v_bytes(int64_t dim) { return static_cast<size_t>(v_stride_of(dim)) * 64 * 4; }
  static void append_key(const float* k, int64_t dim, int position, uint8_t* block) noexcept {
    float* out = reinterpret_cast<float*>(block) + position / 16 * dim * 16 + position % 16;
    for (int64_t d = 0; d < dim; ++d) out[d * 16] = k[d];
  }
  static void append_value(const float* v, int64_t dim, int position, uint8_t* block) noexcept {
    float* out = reinterpret_cast<float*>(block) + position * v_stride_of(dim);
    for (int64_t d = 0; d < dim; ++d) out[d] = v[d];
  }
  static const float* expand_k(const uint8_t* block, int64_t, int, float*) noexcept {
    return reinterpret_cast<const float*>(block);
  }
  static const float* expand_v(const uint8_t* block, int64_t, int, float*) noexcept {
    return reinterpret_cast<const float*>(block);
  }
};

struct HalfCache : RowByRow<HalfCache> {
  static constexpr bool kPairs = false;
  static size_t k_bytes(int64_t dim) { return static_cast<size_t>(dim) * 64 * 2; }
  static size_t v_bytes(int64_t dim) { return static_cast<size_t>(v_stride_of(dim)) * 64 * 2; }
  static void append_key(const float* k, int64_t dim, int position, uint8_t* block) noexcept {
    uint16_t* out = reinterpret_cast<uint16_t*>(block) + position / 16 * dim * 16 + position % 16;
    uint16_t half[64];
    for (int64_t begin = 0; begin < dim; begin += 64) {
      const int64_t count = dim - begin < 64 ? dim - begin : 64;
      float_to_half(k + begin, half, count);
      for (int64_t d = 0; d < count; ++d) out[(begin + d) * 16] = half[d];
    }
  }
  static void append_value(const float* v, int64_t dim, int position, uint8_t* block) noexcept {
    float_to_half(v, reinterpret_cast<uint16_t*>(block) + position * v_stride_of(dim), dim);
  }
  static const float* expand_k(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    half_to_float(reinterpret_cast<const uint16_t*>(block), tile, dim * ((positions + 15) / 16 * 16));
    return tile;
  }
  static const float* expand_v(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    half_to_float(reinterpret_cast<const uint16_t*>(block), tile, v_stride_of(dim) * positions);
    return tile;
  }
};

struct Q8Cache : RowByRow<Q8Cache> {
  static constexpr bool kPairs = false;
  static int64_t groups(int64_t dim) { return (dim + 31) / 32; }
  static size_t k_bytes(int64_t dim) { return static_cast<size_t>(dim * 64 + groups(dim) * 64 * 2 + 63) / 64 * 64; }
  static size_t v_bytes(int64_t dim) {
    return static_cast<size_t>(v_stride_of(dim) * 64 + groups(dim) * 64 * 2 + 63) / 64 * 64;
  }
  // 32 channels (or what is left) to bytes; returns the scale, already rounded to f16. It is NaN where a number is not
  // finite, so that this is seen.
  static uint16_t quantize(const float* x, int64_t count, int8_t (&q)[32]) noexcept {
    F32 largest = zero(), broken = zero();
    each_vector(
        count, [&](int64_t i, int some) __attribute__((always_inline)) {
          const F32 v = load_some(x + i, some);
          largest = max(abs(v), largest);
          broken = add(broken, sub(v, v));
        });
    const float amax = max_of(largest);
    const F32 inverse = set1(amax > 1e-36f ? 127.0f / amax : 0.0f);  // of less it would overflow
    each_vector(
        count, [&](int64_t i, int some) __attribute__((always_inline)) {
          store_bytes(q + i, to_int(mul(load_some(x + i, some), inverse)));
        });
    return f32_to_f16(amax / 127.0f + sum(broken));
  }
  static void append_key(const float* k, int64_t dim, int position, uint8_t* block) noexcept {
    int8_t* out = reinterpret_cast<int8_t*>(block) + position / 16 * dim * 16 + position % 16;
    uint16_t* scales = reinterpret_cast<uint16_t*>(block + dim * 64) + position / 16 * groups(dim) * 16 + position % 16;
    for (int64_t begin = 0; begin < dim; begin += 32) {
      const int64_t count = dim - begin < 32 ? dim - begin : 32;
      int8_t q[32];
      scales[begin / 32 * 16] = quantize(k + begin, count, q);
      for (int64_t d = 0; d < count; ++d) out[(begin + d) * 16] = q[d];
    }
  }
  static void append_value(const float* v, int64_t dim, int position, uint8_t* block) noexcept {
    int8_t* out = reinterpret_cast<int8_t*>(block) + position * v_stride_of(dim);
    uint16_t* scales = reinterpret_cast<uint16_t*>(block + v_stride_of(dim) * 64) + position * groups(dim);
    for (int64_t begin = 0; begin < dim; begin += 32) {
      const int64_t count = dim - begin < 32 ? dim - begin : 32;
      int8_t q[32];
      scales[begin / 32] = quantize(v + begin, count, q);
      __builtin_memcpy(out + begin, q, static_cast<size_t>(count));
    }
  }
  static const float* expand_k(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    const int8_t* q = reinterpret_cast<const int8_t*>(block);
    const uint16_t* scales = reinterpret_cast<const uint16_t*>(block + dim * 64);
    for (int64_t group = 0; group < (positions + 15) / 16; ++group) {
      for (int64_t begin = 0; begin < dim; begin += 32) {
        float scale[16];
        half_to_float(scales + (group * groups(dim) + begin / 32) * 16, scale, 16);
        const int64_t end = begin + 32 < dim ? begin + 32 : dim;
        for (int64_t d = begin; d < end; ++d) {
          const int8_t* in = q + (group * dim + d) * 16;
          float* out = tile + (group * dim + d) * 16;
          for (int i = 0; i < 16; ++i) out[i] = static_cast<float>(in[i]) * scale[i];
        }
      }
    }
    return tile;
  }
  static const float* expand_v(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    const int64_t stride = v_stride_of(dim);
    const int8_t* q = reinterpret_cast<const int8_t*>(block);
    const uint16_t* scales = reinterpret_cast<const uint16_t*>(block + stride * 64);
    for (int64_t j = 0; j < positions; ++j) {
      for (int64_t begin = 0; begin < stride; begin += 32) {
        const float scale = begin < dim ? f16_to_f32(scales[j * groups(dim) + begin / 32]) : 0.0f;
        const int64_t end = begin + 32 < stride ? begin + 32 : stride;
        for (int64_t d = begin; d < end; ++d) tile[j * stride + d] = static_cast<float>(q[j * stride + d]) * scale;
      }
    }
    return tile;
  }
};

// Halves of bytes, counted as in files (quant/q4_0.h): d * (q - 8), of 32 channels the largest at -8. K is
// [4][(k_dim + 1) / 2][16] bytes, pairs of channels: a position's bytes are its own. V is [64][16 * groups]: byte j of
// a group has its channels j and 16 + j. The first of two channels is the low half.
struct Q4Cache : RowByRow<Q4Cache> {
  static constexpr bool kPairs = false;
  static int64_t pairs(int64_t dim) { return (dim + 1) / 2; }
  static int64_t groups(int64_t dim) { return (dim + 31) / 32; }
  static size_t k_bytes(int64_t dim) {
    return static_cast<size_t>(pairs(dim) * 64 + groups(dim) * 64 * 2 + 63) / 64 * 64;
  }
  static size_t v_bytes(int64_t dim) { return static_cast<size_t>(groups(dim) * 64 * (16 + 2)); }
  // As Q8Cache's, to 0..15; what is left of 32 channels is filled up with zeros (8).
  static uint16_t quantize(const float* x, int64_t count, uint8_t (&q)[32]) noexcept {
    F32 highest = zero(), lowest = zero(), broken = zero();
    each_vector(
        count, [&](int64_t i, int some) __attribute__((always_inline)) {
          const F32 v = load_some(x + i, some);
          highest = max(v, highest);
          lowest = max(sub(zero(), v), lowest);
          broken = add(broken, sub(v, v));
        });
    const float top = max_of(highest), bottom = max_of(lowest);
    const float d = top > bottom ? top / -8.0f : bottom / 8.0f;
    const F32 inverse = set1(top + bottom > 1e-30f ? 1.0f / d : 0.0f);
    __builtin_memset(q, 8, 32);
    each_vector(
        count, [&](int64_t i, int some) __attribute__((always_inline)) {
          const F32 levels = add(mul(load_some(x + i, some), inverse), set1(8.0f));
          store_bytes(reinterpret_cast<int8_t*>(q) + i, to_int(min(levels, set1(15.0f))));
        });
    return f32_to_f16(d + sum(broken));
  }
  static void append_key(const float* k, int64_t dim, int position, uint8_t* block) noexcept {
    uint8_t* out = block + position / 16 * pairs(dim) * 16 + position % 16;
    uint16_t* scales =
        reinterpret_cast<uint16_t*>(block + pairs(dim) * 64) + position / 16 * groups(dim) * 16 + position % 16;
    for (int64_t begin = 0; begin < dim; begin += 32) {
      const int64_t count = dim - begin < 32 ? dim - begin : 32;
      uint8_t q[32];
      scales[begin / 32 * 16] = quantize(k + begin, count, q);
      for (int64_t d = 0; d < count; d += 2)
        out[(begin + d) / 2 * 16] = static_cast<uint8_t>((q[d] & 15) | q[d + 1] << 4);
    }
  }
  static void append_value(const float* v, int64_t dim, int position, uint8_t* block) noexcept {
    uint8_t* out = block + position * groups(dim) * 16;
    uint16_t* scales = reinterpret_cast<uint16_t*>(block + groups(dim) * 64 * 16) + position * groups(dim);
    for (int64_t begin = 0; begin < dim; begin += 32, out += 16) {
      uint8_t q[32];
      scales[begin / 32] = quantize(v + begin, dim - begin < 32 ? dim - begin : 32, q);
      for (int j = 0; j < 16; ++j) out[j] = static_cast<uint8_t>((q[j] & 15) | q[16 + j] << 4);
    }
  }
  INGLE_INLINE static F32 value(F32 q, F32 scale) { return mul(sub(q, set1(8.0f)), scale); }
  static const float* expand_k(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    const uint16_t* scales = reinterpret_cast<const uint16_t*>(block + pairs(dim) * 64);
    for (int64_t group = 0; group < (positions + 15) / 16; ++group) {
      for (int64_t begin = 0; begin < dim; begin += 32) {
        const int64_t end = begin + 32 < dim ? begin + 32 : dim;
        for (int i = 0; i < 16; i += kLanes) {
          const F32 scale = load_half(scales + (group * groups(dim) + begin / 32) * 16 + i);
          for (int64_t d = begin; d < end; d += 2) {
            const uint8_t* in = block + (group * pairs(dim) + d / 2) * 16 + i;
            float* out = tile + (group * dim + d) * 16 + i;
            store(out, value(load_low_nibbles(in), scale));
            if (d + 1 < end) store(out + 16, value(load_high_nibbles(in), scale));
          }
        }
      }
    }
    return tile;
  }
  static const float* expand_v(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    const int64_t stride = v_stride_of(dim);
    const uint16_t* scales = reinterpret_cast<const uint16_t*>(block + groups(dim) * 64 * 16);
    const uint8_t* in = block;
    for (int64_t j = 0; j < positions; ++j, tile += stride) {
      for (int64_t begin = 0; begin < stride; begin += 32, in += 16) {
        const F32 scale = set1(f16_to_f32(*scales++));
        for (int i = 0; i < 16; i += kLanes) {
          store(tile + begin + i, value(load_low_nibbles(in + i), scale));
          if (begin + 16 < stride) store(tile + begin + 16 + i, value(load_high_nibbles(in + i), scale));
        }
      }
    }
    return tile - positions * stride;
  }
};

// 16-bit integers (attention_pairs.inl says what they count): K is [4][(k_dim + 1) / 2][16][2], pairs of channels, V is
// [32][v_stride][2], pairs of positions; behind them a float scale for each of the 64 positions.
struct I16Cache {
  static constexpr bool kPairs = true;
  static int64_t pairs(int64_t dim) { return (dim + 1) / 2; }
  static size_t k_bytes(int64_t dim) { return static_cast<size_t>(pairs(dim) * 64 * 4 + 64 * 4); }
  static size_t v_bytes(int64_t dim) { return static_cast<size_t>(v_stride_of(dim) * 64 * 2 + 64 * 4); }
  // Each row's steps first: chains of dependent operations, which so overlap. Then pieces of all rows become words, and
  // go to the block pair by pair: all of a cache line at once (16 rows: half the time of one after another).
  static void append_k(const float* k, int64_t k_stride, int rows, int64_t dim, int position, uint8_t* block) noexcept {
    float steps[kAppendRows];
    float* scales = reinterpret_cast<float*>(block + pairs(dim) * 64 * 4) + position;
    for (int r = 0; r < rows; ++r) scales[r] = steps_of_length(k + r * k_stride, dim, 1.0f, steps[r]);
    uint32_t* out = reinterpret_cast<uint32_t*>(block) + position / 16 * pairs(dim) * 16 + position % 16;
    alignas(64) uint32_t piece[kAppendRows][kLanes];
    for (int64_t i = 0; i < dim; i += 2 * kLanes) {
      const int count = dim - i < 2 * kLanes ? static_cast<int>(dim - i) : 2 * kLanes;
      for (int r = 0; r < rows; ++r)
        words_of(k + r * k_stride + i, count, set1(steps[r]), reinterpret_cast<int16_t*>(piece[r]));
      // Words behind the last are zeros: the second half of an odd head size's last pair.
      uint32_t* to = out + i / 2 * 16;
      const int words = (count + 1) / 2;
      if (rows == kAppendRows) {
        for (int c = 0; c < words; ++c) {
#pragma GCC unroll 16
          for (int r = 0; r < kAppendRows; ++r) to[c * 16 + r] = piece[r][c];
        }
      } else {
        for (int r = 0; r < rows; ++r) {
          for (int c = 0; c < words; ++c) to[c * 16 + r] = piece[r][c];
        }
      }
    }
  }
  static void append_v(const float* v, int64_t v_stride, int rows, int64_t dim, int position, uint8_t* block) noexcept {
    float* scales = reinterpret_cast<float*>(block + v_stride_of(dim) * 64 * 2) + position;
    alignas(64) int16_t even[2 * kLanes], odd[2 * kLanes];
    for (int r = 0; r < rows;) {
      const int at = position + r;
      const float* row = v + r * v_stride;
      uint32_t* out = reinterpret_cast<uint32_t*>(block) + at / 2 * v_stride_of(dim);
      float steps, next_steps;
      scales[r] = steps_of_value(row, dim, steps);
      const bool both = at % 2 == 0 && r + 1 < rows;
      if (both) scales[r + 1] = steps_of_value(row + v_stride, dim, next_steps);
      const int shift = at % 2 * 16;
      const uint32_t others = 0xffff0000u >> shift;
      for (int64_t i = 0; i < dim; i += 2 * kLanes) {
        const int count = dim - i < 2 * kLanes ? static_cast<int>(dim - i) : 2 * kLanes;
        words_of(row + i, count, set1(steps), even);
        if (both) {
          words_of(row + v_stride + i, count, set1(next_steps), odd);
          for (int c = 0; c < count; ++c)
            out[i + c] = static_cast<uint16_t>(even[c]) | static_cast<uint32_t>(static_cast<uint16_t>(odd[c])) << 16;
        } else {
          for (int c = 0; c < count; ++c)
            out[i + c] = (out[i + c] & others) | static_cast<uint32_t>(static_cast<uint16_t>(even[c])) << shift;
        }
      }
      r += both ? 2 : 1;
    }
  }
  static const float* expand_k(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    const int16_t* q = reinterpret_cast<const int16_t*>(block);
    const float* scales = reinterpret_cast<const float*>(block + pairs(dim) * 64 * 4);
    for (int64_t group = 0; group < (positions + 15) / 16; ++group) {
      for (int64_t d = 0; d < dim; ++d) {
        const int16_t* in = q + (group * pairs(dim) + d / 2) * 32 + d % 2;
        float* out = tile + (group * dim + d) * 16;
        for (int i = 0; i < 16; ++i) out[i] = static_cast<float>(in[2 * i]) * scales[group * 16 + i];
      }
    }
    return tile;
  }
  static const float* expand_v(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept {
    const int64_t stride = v_stride_of(dim);
    const int16_t* q = reinterpret_cast<const int16_t*>(block);
    const float* scales = reinterpret_cast<const float*>(block + stride * 64 * 2);
    for (int64_t j = 0; j < positions; ++j) {
      const int16_t* in = q + j / 2 * stride * 2 + j % 2;
      for (int64_t d = 0; d < stride; ++d) tile[j * stride + d] = static_cast<float>(in[2 * d]) * scales[j];
    }
    return tile;
  }
};

template <class Cache>
constexpr KvFormat kv_format(DType type) {
  return {.type = type,
          .k_bytes = Cache::k_bytes,
          .v_bytes = Cache::v_bytes,
          .append_k = Cache::append_k,
          .append_v = Cache::append_v,
          .expand_k = Cache::expand_k,
          .expand_v = Cache::expand_v,
          .pairs = Cache::kPairs};
}
