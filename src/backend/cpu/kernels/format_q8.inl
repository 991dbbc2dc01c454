// Q8_0, packed at the file's own size: f16 scales of all rows, then one byte a weight, with the sign bit flipped where
// the product wants unsigned weights.
INGLE_INLINE void place_signed_bytes(const uint8_t* q, int r, uint8_t* out) {
  for (int k = 0; k < 32; k += 4) store_word(out + byte_place(r, k), load_word(q + k) ^ (0x01010101u * kByteOffset));
}
INGLE_INLINE void load_byte_weights(const uint8_t* in, Bytes (&q)[8][kPanelVectors]) {
  for (int g = 0; g < 8; ++g) {
    for (int v = 0; v < kPanelVectors; ++v) q[g][v] = load_bytes(in + (g * kPanelVectors + v) * kVectorBytes);
  }
}

struct Q8_0Panel : BlockFormat {
  static constexpr DType kType = DType::kQ8_0;
  static constexpr const char* kName = "q8_0";
  static constexpr int kBits = 8, kOffset = kByteOffset, kUnitBytesPerRow = 34;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 34;
    __builtin_memcpy(out + 2 * r, in, 2);
    place_signed_bytes(in + 2, r, out + 2 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q8_0Panel>& scales) {
    load_half_scales(in, scales.scale[0]);
    load_byte_weights(in + 2 * kPanelRows, q);
  }
};
