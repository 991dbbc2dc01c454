// Integer products with AVX-512 VNNI: vpdpbusd adds four u8 x s8 products a lane. Every weight is unsigned; what that
// costs (128 x sum of x for eight-bit weights) is in the initial accumulator, where it is free.
constexpr int kPanelVectors = 2;  // 32 rows: a broadcast activation serves two products
constexpr int kGemvPanels = 4;    // whose blocks are read in turns: 8 float sums of one token
constexpr int kTileTokens = 6;    // 12 integer and 12 float accumulators, 3 for operands: 27 of 32 registers
constexpr bool kByteUnsigned = true;
constexpr bool kTokenPairs = false;
constexpr bool kFewBitsAreFaster = false;
constexpr bool kPairsAreFast = true;
constexpr bool kSumsAreBiased = true;

template <int kBits>
struct BlockDot {
  using Weight = Bytes;
  I32 t;
  INGLE_INLINE static Weight prepare(Bytes w) { return w; }
  INGLE_INLINE void start(I32 initial) { t = initial; }
  INGLE_INLINE void step(Weight w, Bytes x, int) { t = _mm512_dpbusd_epi32(t, w, x); }
  INGLE_INLINE I32 finish(I32) { return t; }
};
INGLE_INLINE I32 add_pair_product(I32 sum, Bytes a, Bytes b) { return _mm512_dpwssd_epi32(sum, a, b); }
INGLE_INLINE I32 shift_right(I32 x, int bits) { return _mm512_srai_epi32(x, static_cast<unsigned>(bits)); }
