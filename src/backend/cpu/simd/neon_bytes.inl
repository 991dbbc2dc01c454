// Sixteen bytes, and integer products with the dot product extension: sdot adds four s8 x s8 products a lane. Weights
// of four and five bits are small enough to be signed bytes as they are. A vector is four k of each of four rows.
constexpr int kPanelVectors = 4;  // 16 rows: a broadcast activation serves four products
constexpr int kGemvPanels = 1;
constexpr bool kByteUnsigned = false;
constexpr bool kFewBitsAreFaster = false;
constexpr bool kSumsAreBiased = true;
constexpr bool kPairsAreFast = false;  // add_pair_product is four instructions

using Bytes = uint8x16_t;
INGLE_INLINE Bytes load_bytes(const uint8_t* p) { return vld1q_u8(p); }
INGLE_INLINE void store_vector(uint8_t* p, Bytes x) { vst1q_u8(p, x); }
INGLE_INLINE Bytes broadcast4(const uint8_t* p) {
  uint32_t x;
  __builtin_memcpy(&x, p, 4);
  return vreinterpretq_u8_u32(vdupq_n_u32(x));
}
INGLE_INLINE Bytes low_nibbles(Bytes x) { return vandq_u8(x, vdupq_n_u8(15)); }
INGLE_INLINE Bytes high_nibbles(Bytes x) { return vshrq_n_u8(x, 4); }
// Each byte shifted left (right where negative); `mask` leaves only bits that come from the byte itself.
INGLE_INLINE Bytes shifted_bits(Bytes x, int left, int mask) {
  return vandq_u8(vshlq_u8(x, vdupq_n_s8(static_cast<int8_t>(left))), vdupq_n_u8(static_cast<uint8_t>(mask)));
}
INGLE_INLINE Bytes join(Bytes a, Bytes b) { return vorrq_u8(a, b); }
INGLE_INLINE Bytes lookup16(const int8_t* table, Bytes index) {
  return vreinterpretq_u8_s8(vqtbl1q_s8(vld1q_s8(table), index));
}
INGLE_INLINE Bytes flip_sign_bit(Bytes x) { return veorq_u8(x, vdupq_n_u8(0x80)); }
INGLE_INLINE Bytes add_to_bytes(Bytes x, int n) { return vaddq_u8(x, vdupq_n_u8(static_cast<uint8_t>(n))); }
INGLE_INLINE I32 add_pair_product(I32 sum, Bytes a, Bytes b) {
  const int16x8_t x = vreinterpretq_s16_u8(a), y = vreinterpretq_s16_u8(b);
  return vaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
}
INGLE_INLINE I32 shift_right(I32 x, int bits) { return vshlq_s32(x, vdupq_n_s32(-bits)); }

template <int kBits>
struct BlockDot {
  using Weight = Bytes;
  I32 t;
  INGLE_INLINE static Weight prepare(Bytes w) { return w; }
  INGLE_INLINE void start(I32 initial) { t = initial; }
  INGLE_INLINE void step(Weight w, Bytes x, int) { t = vdotq_s32(t, vreinterpretq_s8_u8(w), vreinterpretq_s8_u8(x)); }
  INGLE_INLINE I32 finish(I32) { return t; }
};
