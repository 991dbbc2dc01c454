// A panel of weights and what every packed format says about itself.
//
// A format is a struct with
//   kType, kName         which blocks of a file it packs; the layout's name
//   kBits                4, 5: unsigned weights below 16, 32; 8: bytes, in the instruction set's own form
//   kOffset              what an unsigned weight is too large by: 0, 8, 16 (kBits 8: 0 or 128, see Byte below)
//   kMinimum             whether a block has a minimum that is added
//   kBytesPerRow         packed bytes per row and 32 k
//   pack_row(row, block, r, out)               block of 32 k of file row `row` into packed block `out`, as panel row r
//   unpack(in, q, scale, minimum)              a packed block into vectors: q[g][v] holds k = 4g .. 4g+3 of rows v *
//   kLanes ...
constexpr int kPanelRows = kPanelVectors * kLanes;
constexpr int kVectorBytes = 4 * kLanes;
constexpr int kByteOffset = kByteUnsigned ? 128 : 0;

// Where weight k of panel row r stands among the 32 * kPanelRows bytes of a block that is one byte a weight.
INGLE_INLINE int byte_place(int r, int k) {
  return ((k / 4) * kPanelVectors + r / kLanes) * kVectorBytes + (r % kLanes) * 4 + k % 4;
}

// Nibbles: groups g and g + 4 share the bytes of group g.
INGLE_INLINE void place_nibbles(const uint8_t* q, int r, uint8_t* out) {
  for (int k = 0; k < 16; ++k) out[byte_place(r, k)] = static_cast<uint8_t>(q[k] | (q[k + 16] << 4));
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

INGLE_INLINE void load_half_scales(const uint8_t* in, F32 (&scale)[kPanelVectors]) {
  for (int v = 0; v < kPanelVectors; ++v) scale[v] = load_half(reinterpret_cast<const uint16_t*>(in) + v * kLanes);
}
INGLE_INLINE void load_float_scales(const uint8_t* in, F32 (&scale)[kPanelVectors]) {
  for (int v = 0; v < kPanelVectors; ++v) scale[v] = load(reinterpret_cast<const float*>(in) + v * kLanes);
}
