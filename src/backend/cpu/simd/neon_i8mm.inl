// Tiles of the matrix product extension: smmla multiplies two rows by two tokens, eight k of each, which is twice the
// products of sdot. 16 integer accumulators, 8 weights and 2 pairs of activations of 32 registers, no spills (24 with
// six tokens: more instructions a token, by a tenth); the float sums rest in L1 over a block. A single token would
// leave half of it idle: few tokens take the dot product.
constexpr int kTileTokens = 4;
constexpr bool kTokenPairs = true;

// Sums of four rows with two tokens; integers, so their order does not matter.
template <int kBits>
struct PairDot {
  I32 low, high;  // rows 0 and 1, rows 2 and 3: [row][token]
  INGLE_INLINE void start() {
    low = high = vdupq_n_s32(0);
    asm volatile("" : INGLE_REGISTER(low), INGLE_REGISTER(high));
  }
  // w: eight k of rows 0 and 1, and of rows 2 and 3; x: of both tokens.
  INGLE_INLINE void step(Bytes w_low, Bytes w_high, Bytes x) {
    low = vmmlaq_s32(low, vreinterpretq_s8_u8(w_low), vreinterpretq_s8_u8(x));
    high = vmmlaq_s32(high, vreinterpretq_s8_u8(w_high), vreinterpretq_s8_u8(x));
  }
  INGLE_INLINE I32 finish(int token, I32 initial) const {
    // Here and above: gcc 12 begins sums of a block's second half before those of the first are done with, and spills
    // both.
    asm volatile("" ::"w"(low), "w"(high));
    return vaddq_s32(initial, token == 0 ? vuzp1q_s32(low, high) : vuzp2q_s32(low, high));
  }
  // Four k of four rows, and the next four, to what step() takes.
  INGLE_INLINE static Bytes low_rows(Bytes first, Bytes next) {
    return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(first), vreinterpretq_u32_u8(next)));
  }
  INGLE_INLINE static Bytes high_rows(Bytes first, Bytes next) {
    return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(first), vreinterpretq_u32_u8(next)));
  }
};
