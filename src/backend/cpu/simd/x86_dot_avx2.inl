// Integer products without VNNI: vpmaddubsw adds two u8 x s8 products in 16 bits. Small weights allow several of them
// before widening: below 16, all eight of a block (8 x 2 x 15 x 127 = 30480); below 32, four (4 x 2 x 31 x 127 =
// 31496); below 64, two (2 x 2 x 63 x 127 = 32004). Eight-bit weights are signed, and the sign is moved to the
// activation (2 x 128 x 127 fits; -128 does not occur as an activation).
constexpr int kPanelVectors = 2;
constexpr int kGemvPanels = 2;  // whose blocks are read in turns: more would not stay in registers
constexpr int kTileTokens = 4;
constexpr bool kByteUnsigned = false;
constexpr bool kTokenPairs = false;
constexpr bool kFewBitsAreFaster = true;
constexpr bool kPairsAreFast = true;
constexpr bool kSumsAreBiased = false;

// sum + a0 b0 + a1 b1 in each lane, of two 16-bit numbers a lane.
INGLE_INLINE I32 add_pair_product(I32 sum, Bytes a, Bytes b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
INGLE_INLINE I32 shift_right(I32 x, int bits) { return _mm256_srai_epi32(x, bits); }

template <int kBits>
struct BlockDot;

template <>
struct BlockDot<4> {
  using Weight = Bytes;
  __m256i t;
  INGLE_INLINE static Weight prepare(Bytes w) { return w; }
  INGLE_INLINE void start(I32) { t = _mm256_setzero_si256(); }
  INGLE_INLINE void step(Weight w, Bytes x, int) { t = _mm256_add_epi16(t, _mm256_maddubs_epi16(w, x)); }
  INGLE_INLINE I32 finish(I32 initial) { return _mm256_add_epi32(initial, _mm256_madd_epi16(t, _mm256_set1_epi16(1))); }
};

template <>
struct BlockDot<5> {
  using Weight = Bytes;
  __m256i t, wide;
  INGLE_INLINE static Weight prepare(Bytes w) { return w; }
  INGLE_INLINE void start(I32 initial) {
    t = _mm256_setzero_si256();
    wide = initial;
  }
  INGLE_INLINE void step(Weight w, Bytes x, int group) {
    t = _mm256_add_epi16(t, _mm256_maddubs_epi16(w, x));
    if (group == 3) {
      wide = _mm256_add_epi32(wide, _mm256_madd_epi16(t, _mm256_set1_epi16(1)));
      t = _mm256_setzero_si256();
    }
  }
  INGLE_INLINE I32 finish(I32) { return _mm256_add_epi32(wide, _mm256_madd_epi16(t, _mm256_set1_epi16(1))); }
};

template <>
struct BlockDot<6> {
  using Weight = Bytes;
  __m256i t, wide;
  INGLE_INLINE static Weight prepare(Bytes w) { return w; }
  INGLE_INLINE void start(I32 initial) { wide = initial; }
  INGLE_INLINE void step(Weight w, Bytes x, int group) {
    const __m256i pairs = _mm256_maddubs_epi16(w, x);
    if (group % 2 == 0) {
      t = pairs;
    } else {
      wide = _mm256_add_epi32(wide, _mm256_madd_epi16(_mm256_add_epi16(t, pairs), _mm256_set1_epi16(1)));
    }
  }
  INGLE_INLINE I32 finish(I32) { return wide; }
};

template <>
struct BlockDot<8> {
  struct Weight {
    Bytes value, magnitude;
  };
  __m256i t;
  INGLE_INLINE static Weight prepare(Bytes w) { return {w, _mm256_abs_epi8(w)}; }
  INGLE_INLINE void start(I32 initial) { t = initial; }
  INGLE_INLINE void step(Weight w, Bytes x, int) {
    const __m256i pairs = _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(x, w.value));
    t = _mm256_add_epi32(t, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  INGLE_INLINE I32 finish(I32) { return t; }
};
