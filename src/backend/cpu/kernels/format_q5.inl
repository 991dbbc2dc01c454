// Q5_0 and Q5_1, packed at the file's own size: as Q4, with a plane of fifth bits.
INGLE_INLINE void pack_fifth_bits(const uint8_t* in, int r, uint8_t* plane) {
  uint32_t bits;
  __builtin_memcpy(&bits, in, 4);
  uint8_t bit[32];
  for (int k = 0; k < 32; ++k) bit[k] = static_cast<uint8_t>((bits >> k) & 1);
  place_single_bits(bit, r, plane);
}

struct Q5_0Panel : BlockFormat {
  static constexpr DType kType = DType::kQ5_0;
  static constexpr const char* kName = "q5_0";
  static constexpr int kBits = 5, kOffset = 16, kUnitBytesPerRow = 22;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 22;
    __builtin_memcpy(out + 2 * r, in, 2);
    pack_fifth_bits(in + 2, r, out + 2 * kPanelRows);
    Q4_0Panel::pack_nibbles(in + 6, r, out + 6 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q5_0Panel>& scales) {
    load_half_scales(in, scales.scale[0]);
    load_nibbles(in + 6 * kPanelRows, q);
    join_single_bits(in + 2 * kPanelRows, 4, q);
  }
};

struct Q5_1Panel : BlockFormat {
  static constexpr DType kType = DType::kQ5_1;
  static constexpr const char* kName = "q5_1";
  static constexpr int kBits = 5, kOffset = 0, kUnitBytesPerRow = 24;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 24;
    __builtin_memcpy(out + 2 * r, in, 2);
    __builtin_memcpy(out + 2 * kPanelRows + 2 * r, in + 2, 2);
    pack_fifth_bits(in + 4, r, out + 4 * kPanelRows);
    Q4_0Panel::pack_nibbles(in + 8, r, out + 8 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q5_1Panel>& scales) {
    load_half_scales(in, scales.scale[0]);
    load_half_scales(in + 2 * kPanelRows, scales.minimum[0]);
    load_nibbles(in + 8 * kPanelRows, q);
    join_single_bits(in + 4 * kPanelRows, 4, q);
  }
};
