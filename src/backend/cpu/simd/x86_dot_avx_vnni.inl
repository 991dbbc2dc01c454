// Integer products with AVX-VNNI: as AVX-512 VNNI, on half the width and half the registers.
constexpr int kPanelVectors = 2;
constexpr int kGemvPanels = 2;  // whose blocks are read in turns: more would not stay in registers
constexpr int kTileTokens = 4;
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
  INGLE_INLINE void step(Weight w, Bytes x, int) { t = _mm256_dpbusd_avx_epi32(t, w, x); }
  INGLE_INLINE I32 finish(I32) { return t; }
};
INGLE_INLINE I32 add_pair_product(I32 sum, Bytes a, Bytes b) { return _mm256_dpwssd_avx_epi32(sum, a, b); }
INGLE_INLINE I32 shift_right(I32 x, int bits) { return _mm256_srai_epi32(x, bits); }
