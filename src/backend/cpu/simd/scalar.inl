// The vocabulary in plain C++, eight lanes at a time: what every other one is compared with, and what runs where
// nothing else does.
struct F32 {
  float v[8];
};
struct I32 {
  int32_t v[8];
};
struct Bytes {
  uint8_t v[32];
};
constexpr int kLanes = 8;
constexpr int kPanelVectors = 1;
constexpr int kGemvPanels = 1;
constexpr int kTileTokens = 4;
constexpr bool kByteUnsigned = false;
constexpr bool kTokenPairs = false;
constexpr bool kFewBitsAreFaster = false;
constexpr bool kPairsAreFast = true;
constexpr bool kSumsAreBiased = false;

#define INGLE_EACH_LANE for (int i = 0; i < 8; ++i)
INGLE_INLINE F32 set1(float x) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = x;
  return r;
}
INGLE_INLINE F32 zero() { return set1(0.0f); }
INGLE_INLINE F32 load(const float* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = p[i];
  return r;
}
INGLE_INLINE void store(float* p, F32 x) { INGLE_EACH_LANE p[i] = x.v[i]; }
#define INGLE_BINARY(name, expression)   \
  INGLE_INLINE F32 name(F32 a, F32 b) {  \
    F32 r;                               \
    INGLE_EACH_LANE r.v[i] = expression; \
    return r;                            \
  }
INGLE_BINARY(add, a.v[i] + b.v[i])
INGLE_BINARY(sub, a.v[i] - b.v[i])
INGLE_BINARY(mul, a.v[i] * b.v[i])
INGLE_BINARY(div, a.v[i] / b.v[i])
INGLE_BINARY(min, (a.v[i] < b.v[i] ? a.v[i] : b.v[i]))
INGLE_BINARY(max, (a.v[i] > b.v[i] ? a.v[i] : b.v[i]))
INGLE_BINARY(sub_add, (i % 2 == 0 ? a.v[i] - b.v[i] : a.v[i] + b.v[i]))
#undef INGLE_BINARY
INGLE_INLINE F32 fma(F32 a, F32 b, F32 c) { return add(mul(a, b), c); }
INGLE_INLINE F32 round(F32 a) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = __builtin_nearbyintf(a.v[i]);
  return r;
}
INGLE_INLINE F32 abs(F32 a) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = __builtin_fabsf(a.v[i]);
  return r;
}
INGLE_INLINE uint32_t float_bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
// The larger of two numbers that are not negative, by their bits: NaN is the largest of all.
INGLE_INLINE F32 max_magnitude(F32 a, F32 b) {
  INGLE_EACH_LANE a.v[i] = float_bits(a.v[i]) > float_bits(b.v[i]) ? a.v[i] : b.v[i];
  return a;
}
INGLE_INLINE float max_of_magnitudes(F32 a) {
  float r = a.v[0];
  INGLE_EACH_LANE r = float_bits(a.v[i]) > float_bits(r) ? a.v[i] : r;
  return r;
}
INGLE_INLINE float sum(F32 a) {
  return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7]));
}
INGLE_INLINE float max_of(F32 a) {
  float r = a.v[0];
  INGLE_EACH_LANE r = a.v[i] > r ? a.v[i] : r;
  return r;
}
INGLE_INLINE F32 load_half(const uint16_t* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = f16_to_f32(p[i]);
  return r;
}
INGLE_INLINE void store_half(uint16_t* p, F32 x) { INGLE_EACH_LANE p[i] = f32_to_f16(x.v[i]); }
INGLE_INLINE F32 load_bfloat(const uint16_t* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = bf16_to_f32(p[i]);
  return r;
}
INGLE_INLINE F32 load_unsigned(const uint8_t* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = static_cast<float>(p[i]);
  return r;
}
INGLE_INLINE F32 load_signed(const uint8_t* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = static_cast<float>(static_cast<int8_t>(p[i]));
  return r;
}
INGLE_INLINE F32 load_low_nibbles(const uint8_t* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = static_cast<float>(p[i] & 15);
  return r;
}
INGLE_INLINE F32 load_high_nibbles(const uint8_t* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = static_cast<float>(p[i] >> 4);
  return r;
}
INGLE_INLINE F32 load_powers(const uint8_t* p) {
  F32 r;
  INGLE_EACH_LANE {
    const uint32_t bits = p[i] < 2 ? 0x00200000u << p[i] : (p[i] - 1u) << 23;
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}
INGLE_INLINE I32 set1_int(int32_t x) {
  I32 r;
  INGLE_EACH_LANE r.v[i] = x;
  return r;
}
INGLE_INLINE F32 to_float(I32 x) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = static_cast<float>(x.v[i]);
  return r;
}
INGLE_INLINE F32 as_float(I32 x) {
  F32 r;
  __builtin_memcpy(&r, &x, sizeof r);
  return r;
}
// Out of range (also NaN) gives the smallest integer, as vcvtps2dq does.
INGLE_INLINE I32 to_int(F32 x) {
  I32 r;
  INGLE_EACH_LANE r.v[i] = x.v[i] >= -2147483648.0f && x.v[i] < 2147483648.0f
                               ? static_cast<int32_t>(__builtin_nearbyintf(x.v[i]))
                               : INT32_MIN;
  return r;
}
INGLE_INLINE F32 scale_by_power(F32 x, F32 n) {
  F32 r;
  INGLE_EACH_LANE {
    const uint32_t bits = (static_cast<uint32_t>(to_int(n).v[i]) + 127u) << 23;
    float power;
    __builtin_memcpy(&power, &bits, 4);
    r.v[i] = x.v[i] * power;
  }
  return r;
}
INGLE_INLINE F32 select_first(int count, F32 x, F32 y) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = i < count ? x.v[i] : y.v[i];
  return r;
}
INGLE_INLINE int32_t sum_of_16(const int8_t* p) {
  int32_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += p[i];
  return sum;
}
INGLE_INLINE F32 power_of_shifted(F32 x) {
  INGLE_EACH_LANE {
    uint32_t bits;
    __builtin_memcpy(&bits, &x.v[i], 4);
    bits <<= 23;
    __builtin_memcpy(&x.v[i], &bits, 4);
  }
  return x;
}
INGLE_INLINE void store_words(int16_t* p, I32 a, I32 b) {
  for (int i = 0; i < 16; ++i) {
    const int32_t x = i < 8 ? a.v[i] : b.v[i - 8];
    p[i] = static_cast<int16_t>(x < -32768 ? -32768 : x > 32767 ? 32767 : x);
  }
}
INGLE_INLINE void store_bytes(int8_t* p, I32 x) { INGLE_EACH_LANE p[i] = static_cast<int8_t>(x.v[i]); }
INGLE_INLINE F32 swap_pairs(F32 x) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = x.v[i ^ 1];
  return r;
}
INGLE_INLINE F32 load_doubled(const float* p) {
  F32 r;
  INGLE_EACH_LANE r.v[i] = p[i / 2];
  return r;
}

INGLE_INLINE Bytes load_bytes(const uint8_t* p) {
  Bytes r;
  __builtin_memcpy(r.v, p, 32);
  return r;
}
INGLE_INLINE void store_vector(uint8_t* p, Bytes x) { __builtin_memcpy(p, x.v, 32); }
INGLE_INLINE Bytes broadcast4(const uint8_t* p) {
  Bytes r;
  for (int i = 0; i < 32; ++i) r.v[i] = p[i % 4];
  return r;
}
INGLE_INLINE Bytes low_nibbles(Bytes x) {
  for (uint8_t& b : x.v) b = b & 15;
  return x;
}
INGLE_INLINE Bytes high_nibbles(Bytes x) {
  for (uint8_t& b : x.v) b = b >> 4;
  return x;
}
INGLE_INLINE Bytes shifted_bits(Bytes x, int left, int mask) {
  for (uint8_t& b : x.v) b = static_cast<uint8_t>((left >= 0 ? b << left : b >> -left) & mask);
  return x;
}
INGLE_INLINE Bytes join(Bytes a, Bytes b) {
  for (int i = 0; i < 32; ++i) a.v[i] = a.v[i] | b.v[i];
  return a;
}
INGLE_INLINE Bytes lookup16(const int8_t* table, Bytes index) {
  for (uint8_t& b : index.v) b = static_cast<uint8_t>(table[b & 15]);
  return index;
}
INGLE_INLINE Bytes add_to_bytes(Bytes x, int n) {
  for (uint8_t& b : x.v) b = static_cast<uint8_t>(b + n);
  return x;
}
INGLE_INLINE Bytes flip_sign_bit(Bytes x) {
  for (uint8_t& b : x.v) b = b ^ 0x80;
  return x;
}
// Wraps around, as vectors do: where a number was not finite, its words mean nothing and its scale says so.
INGLE_INLINE I32 add_pair_product(I32 sum, Bytes a, Bytes b) {
  int16_t x[16], y[16];
  __builtin_memcpy(x, a.v, 32);
  __builtin_memcpy(y, b.v, 32);
  INGLE_EACH_LANE {
    const int32_t first = x[2 * i] * y[2 * i], second = x[2 * i + 1] * y[2 * i + 1];
    sum.v[i] = static_cast<int32_t>(static_cast<uint32_t>(sum.v[i]) + static_cast<uint32_t>(first) +
                                    static_cast<uint32_t>(second));
  }
  return sum;
}
INGLE_INLINE I32 shift_right(I32 x, int bits) {
  INGLE_EACH_LANE x.v[i] = x.v[i] >> bits;
  return x;
}

template <int kBits>
struct BlockDot {
  using Weight = Bytes;
  I32 t;
  INGLE_INLINE static Weight prepare(Bytes w) { return w; }
  INGLE_INLINE void start(I32 initial) { t = initial; }
  INGLE_INLINE void step(Weight w, Bytes x, int) {
    for (int i = 0; i < 32; ++i) {
      const int weight = kBits == 8 ? static_cast<int8_t>(w.v[i]) : w.v[i];
      t.v[i / 4] += weight * static_cast<int8_t>(x.v[i]);
    }
  }
  INGLE_INLINE I32 finish(I32) { return t; }
};
#undef INGLE_EACH_LANE
