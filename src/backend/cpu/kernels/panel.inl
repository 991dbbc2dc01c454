// A panel of weights and what every packed format says about itself.
//
// A format is a struct over BlockFormat with
//   kType, kName         which blocks of a file it packs; the layout's name
//   kBits                4, 5, 6: unsigned weights below 16, 32, 64; 8: bytes, in the instruction set's own form
//   kOffset              what an unsigned weight is too large by: 0, 4, 8, 16, 32 (kBits 8: 0 or 128)
//   kMinimum             whether a block has a minimum that is added
//   kParts               scales of a block: one, or one for each 16
//   kUnitBlocks          blocks that share something, packed as one unit: 1, or the 8 of a 256-block
//   kUnitBytesPerRow     packed bytes per row and unit
//   pack_row(row, unit, r, out)                unit of file row `row` into packed unit `out`, as panel row r
//   unpack(in, index, q, scales)               block `index` of a packed unit into vectors: q[g][v] holds
//                                              k = 4g .. 4g+3 of rows v * kLanes ...
struct BlockFormat {
  static constexpr bool kMinimum = false;
  static constexpr int kParts = 1, kUnitBlocks = 1;
};

// Scales and minima of a block.
template <class Format>
struct BlockScales {
  F32 scale[Format::kParts][kPanelVectors];
  F32 minimum[Format::kMinimum ? Format::kParts : 1][kPanelVectors];
};

constexpr int kPanelRows = kPanelVectors * kLanes;
constexpr int kVectorBytes = 4 * kLanes;
constexpr int kByteOffset = kByteUnsigned ? 128 : 0;

// An integer sum that begins with the bits of the float 1.5 * 2^23 is, read as a float, 1.5 * 2^23 + sum, as long as it
// lies within 2^22 (a block's is below 2^19): that saves the conversion, which would take the ports that products need.
// Zero where there is no fused multiply-add, or where sums are begun in 16 bits.
constexpr int32_t kSumBias = kSumsAreBiased ? 0x4b400000 : 0;
constexpr float kSumBiasValue = 12582912.0f;

// Where weight k of panel row r stands among the 32 * kPanelRows bytes of a block that is one byte a weight.
INGLE_INLINE int byte_place(int r, int k) {
  return ((k / 4) * kPanelVectors + r / kLanes) * kVectorBytes + (r % kLanes) * 4 + k % 4;
}

// Where groups g of four k of row y stand in the bytes of a block of activations: [8][rows][4], or, where products take
// two tokens at once, [4][rows][8].
INGLE_INLINE int activation_place(int g, int y, int rows) {
  return kTokenPairs ? (g / 2 * rows + y) * 8 + g % 2 * 4 : (g * rows + y) * 4;
}

// With kTokenPairs, a vocabulary's product of four rows and two tokens.
template <int kBits>
struct PairDot;

// Four weights of a row are a word wherever they stand: rows are packed word by word.
INGLE_INLINE uint32_t load_word(const uint8_t* in) {
  uint32_t word;
  __builtin_memcpy(&word, in, 4);
  return word;
}
INGLE_INLINE void store_word(uint8_t* out, uint32_t word) { __builtin_memcpy(out, &word, 4); }

// The bits of 32 bytes that `mask` has once they are shifted right.
INGLE_INLINE void take_bits(const uint8_t* in, int shift, uint8_t mask, uint8_t* out) {
  for (int i = 0; i < 32; i += 4) store_word(out + i, (load_word(in + i) >> shift) & (0x01010101u * mask));
}

// Nibbles: groups g and g + 4 share the bytes of group g.
INGLE_INLINE void place_nibbles(const uint8_t* q, int r, uint8_t* out) {
  for (int k = 0; k < 16; k += 4) store_word(out + byte_place(r, k), load_word(q + k) | load_word(q + k + 16) << 4);
}
INGLE_INLINE void load_nibbles(const uint8_t* in, Bytes (&q)[8][kPanelVectors]) {
  for (int g = 0; g < 4; ++g) {
    for (int v = 0; v < kPanelVectors; ++v) {
      const Bytes both = load_bytes(in + (g * kPanelVectors + v) * kVectorBytes);
      q[g][v] = low_nibbles(both);
      q[g + 4][v] = high_nibbles(both);
    }
  }
}

// Planes of single bits and of two bits, four and eight bytes a row and block. Byte (lane, j) of a plane's vector v
// holds the bits of k = 4g + j: of single bits that of group g in bit g; of two bits the groups 0-3 in one plane and
// 4-7 in a second, that of group g in bits 2 (g % 4).
INGLE_INLINE int plane_place(int r) { return (r / kLanes) * kVectorBytes + (r % kLanes) * 4; }
INGLE_INLINE void place_single_bits(const uint8_t* bit, int r, uint8_t* plane) {
  uint32_t bits = 0;
  for (int g = 0; g < 8; ++g) bits |= load_word(bit + 4 * g) << g;
  store_word(plane + plane_place(r), bits);
}
INGLE_INLINE void place_bit_pairs(const uint8_t* pair, int r, uint8_t* planes) {
  for (int half = 0; half < 2; ++half) {
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits |= load_word(pair + 16 * half + 4 * i) << (2 * i);
    store_word(planes + half * 4 * kPanelRows + plane_place(r), bits);
  }
}
// q gains the plane's bit as bit `to`.
INGLE_INLINE void join_single_bits(const uint8_t* plane, int to, Bytes (&q)[8][kPanelVectors]) {
  for (int v = 0; v < kPanelVectors; ++v) {
    const Bytes bits = load_bytes(plane + v * kVectorBytes);
    for (int g = 0; g < 8; ++g) q[g][v] = join(q[g][v], shifted_bits(bits, to - g, 1 << to));
  }
}
// The two bits of each weight, shifted left by `to`.
INGLE_INLINE void load_bit_pairs(const uint8_t* planes, int to, Bytes (&pairs)[8][kPanelVectors]) {
  for (int half = 0; half < 2; ++half) {
    for (int v = 0; v < kPanelVectors; ++v) {
      const Bytes bits = load_bytes(planes + (half * kPanelVectors + v) * kVectorBytes);
      for (int i = 0; i < 4; ++i) pairs[half * 4 + i][v] = shifted_bits(bits, to - 2 * i, 3 << to);
    }
  }
}

INGLE_INLINE void load_half_scales(const uint8_t* in, F32 (&scale)[kPanelVectors]) {
  for (int v = 0; v < kPanelVectors; ++v) scale[v] = load_half(reinterpret_cast<const uint16_t*>(in) + v * kLanes);
}
