// Q4_0 and Q4_1, packed at the file's own size: f16 scales (and minima) of all rows, then nibbles.
struct Q4_0Panel : BlockFormat {
  static constexpr DType kType = DType::kQ4_0;
  static constexpr const char* kName = "q4_0";
  static constexpr int kBits = 4, kOffset = 8, kUnitBytesPerRow = 18;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 18;
    __builtin_memcpy(out + 2 * r, in, 2);
    pack_nibbles(in + 2, r, out + 2 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q4_0Panel>& scales) {
    load_half_scales(in, scales.scale[0]);
    load_nibbles(in + 2 * kPanelRows, q);
  }
  // File order: element j low, j + 16 high, which is just what groups g and g + 4 want.
  static void pack_nibbles(const uint8_t* in, int r, uint8_t* out) {
    for (int k = 0; k < 16; k += 4) store_word(out + byte_place(r, k), load_word(in + k));
  }
};

struct Q4_1Panel : BlockFormat {
  static constexpr DType kType = DType::kQ4_1;
  static constexpr const char* kName = "q4_1";
  static constexpr int kBits = 4, kOffset = 0, kUnitBytesPerRow = 20;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 20;
    __builtin_memcpy(out + 2 * r, in, 2);
    __builtin_memcpy(out + 2 * kPanelRows + 2 * r, in + 2, 2);
    Q4_0Panel::pack_nibbles(in + 4, r, out + 4 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q4_1Panel>& scales) {
    load_half_scales(in, scales.scale[0]);
    load_half_scales(in + 2 * kPanelRows, scales.minimum[0]);
    load_nibbles(in + 4 * kPanelRows, q);
  }
};
