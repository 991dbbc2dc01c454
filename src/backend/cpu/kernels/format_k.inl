// The formats of 256-blocks with two levels of scales. A unit is a 256-block: f16 d (and dmin) of all rows, then the
// small scales (and minima) as one byte a row each, then block by block the weights. Q2_K, Q6_K are packed at the
// file's own size; Q4_K, Q5_K, Q3_K take four bytes a row more, because their six-bit scales become bytes.
//
// A scale is d times its byte, rounded once, as the file's decoder has it.
template <class Format>
INGLE_INLINE void scale_by(const uint8_t* d, BlockScales<Format>& scales) {
  F32 factor[kPanelVectors];
  load_half_scales(d, factor);
  for (int part = 0; part < Format::kParts; ++part) {
    for (int v = 0; v < kPanelVectors; ++v) scales.scale[part][v] = mul(factor[v], scales.scale[part][v]);
  }
}
// Minima are taken away.
template <class Format>
INGLE_INLINE void take_minima(const uint8_t* dmin, BlockScales<Format>& scales) {
  F32 factor[kPanelVectors];
  load_half_scales(dmin, factor);
  for (int part = 0; part < Format::kParts; ++part) {
    for (int v = 0; v < kPanelVectors; ++v) {
      scales.minimum[part][v] = sub(zero(), mul(factor[v], scales.minimum[part][v]));
    }
  }
}

// Q4_K and Q5_K: d, dmin, eight scales, eight minima, then the blocks; in the file d, dmin, twelve bytes of scales.
struct OffsetUnit {
  static constexpr int kHeaderBytesPerRow = 20;
  static void pack_header(const uint8_t* in, int r, uint8_t* out) {
    __builtin_memcpy(out + 2 * r, in, 2);
    __builtin_memcpy(out + 2 * kPanelRows + 2 * r, in + 2, 2);
    for (int index = 0; index < 8; ++index) {
      const ScaleMin bits = unpack_scale_min(in + 4, index);
      out[(4 + index) * kPanelRows + r] = static_cast<uint8_t>(bits.scale);
      out[(12 + index) * kPanelRows + r] = static_cast<uint8_t>(bits.min);
    }
  }
  // Two blocks share 32 bytes: the even one has the low halves.
  static void pack_nibbles(const uint8_t* qs, int index, int r, uint8_t* out) {
    uint8_t q[32];
    take_bits(qs + index / 2 * 32, index % 2 * 4, 15, q);
    place_nibbles(q, r, out);
  }
  template <class Format>
  INGLE_INLINE static void load_scales(const uint8_t* in, int index, BlockScales<Format>& scales) {
    for (int v = 0; v < kPanelVectors; ++v) {
      scales.scale[0][v] = load_unsigned(in + (4 + index) * kPanelRows + v * kLanes);
      scales.minimum[0][v] = load_unsigned(in + (12 + index) * kPanelRows + v * kLanes);
    }
    scale_by(in, scales);
    take_minima(in + 2 * kPanelRows, scales);
  }
};

struct Q4_K_Panel : BlockFormat {
  static constexpr DType kType = DType::kQ4_K;
  static constexpr const char* kName = "q4_k";
  static constexpr int kBits = 4, kOffset = 0, kUnitBlocks = 8;
  static constexpr int kBlockBytes = 16, kUnitBytesPerRow = OffsetUnit::kHeaderBytesPerRow + 8 * kBlockBytes;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t unit, int r, uint8_t* out) {
    const uint8_t* in = row + unit * 144;
    OffsetUnit::pack_header(in, r, out);
    for (int index = 0; index < 8; ++index) {
      uint8_t* block = out + (OffsetUnit::kHeaderBytesPerRow + index * kBlockBytes) * kPanelRows;
      OffsetUnit::pack_nibbles(in + 16, index, r, block);
    }
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int index, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q4_K_Panel>& scales) {
    OffsetUnit::load_scales(in, index, scales);
    load_nibbles(in + (OffsetUnit::kHeaderBytesPerRow + index * kBlockBytes) * kPanelRows, q);
  }
};

struct Q5_K_Panel : BlockFormat {
  static constexpr DType kType = DType::kQ5_K;
  static constexpr const char* kName = "q5_k";
  static constexpr int kBits = 5, kOffset = 0, kUnitBlocks = 8;
  static constexpr int kBlockBytes = 20, kUnitBytesPerRow = OffsetUnit::kHeaderBytesPerRow + 8 * kBlockBytes;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t unit, int r, uint8_t* out) {
    const uint8_t* in = row + unit * 176;
    OffsetUnit::pack_header(in, r, out);
    for (int index = 0; index < 8; ++index) {
      uint8_t* block = out + (OffsetUnit::kHeaderBytesPerRow + index * kBlockBytes) * kPanelRows;
      uint8_t fifth[32];  // bit `index` of byte l belongs to element l
      take_bits(in + 16, index, 1, fifth);
      place_single_bits(fifth, r, block);
      OffsetUnit::pack_nibbles(in + 48, index, r, block + 4 * kPanelRows);
    }
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int index, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q5_K_Panel>& scales) {
    OffsetUnit::load_scales(in, index, scales);
    const uint8_t* block = in + (OffsetUnit::kHeaderBytesPerRow + index * kBlockBytes) * kPanelRows;
    load_nibbles(block + 4 * kPanelRows, q);
    join_single_bits(block, 4, q);
  }
};

// Two bits; four bits of scale and of minimum for each 16, in one byte as in the file: d, dmin, sixteen bytes, blocks.
struct Q2_K_Panel : BlockFormat {
  static constexpr DType kType = DType::kQ2_K;
  static constexpr const char* kName = "q2_k";
  static constexpr int kBits = 4, kOffset = 0, kParts = 2, kUnitBlocks = 8, kUnitBytesPerRow = 84;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t unit, int r, uint8_t* out) {
    const uint8_t* in = row + unit * 84;
    __builtin_memcpy(out + 2 * r, in + 80, 2);
    __builtin_memcpy(out + 2 * kPanelRows + 2 * r, in + 82, 2);
    for (int i = 0; i < 16; ++i) out[(4 + i) * kPanelRows + r] = in[i];
    for (int index = 0; index < 8; ++index) {
      uint8_t q[32];
      take_bits(in + 16 + index / 4 * 32, index % 4 * 2, 3, q);
      place_bit_pairs(q, r, out + (20 + 8 * index) * kPanelRows);
    }
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int index, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q2_K_Panel>& scales) {
    for (int part = 0; part < 2; ++part) {
      for (int v = 0; v < kPanelVectors; ++v) {
        const uint8_t* both = in + (4 + 2 * index + part) * kPanelRows + v * kLanes;
        scales.scale[part][v] = load_low_nibbles(both);
        scales.minimum[part][v] = load_high_nibbles(both);
      }
    }
    scale_by(in, scales);
    take_minima(in + 2 * kPanelRows, scales);
    load_bit_pairs(in + (20 + 8 * index) * kPanelRows, 0, q);
  }
};

// d and sixteen signed scales, as Q3_K and Q6_K have them.
template <class Format>
INGLE_INLINE void load_signed_scales(const uint8_t* in, int index, BlockScales<Format>& scales) {
  for (int part = 0; part < 2; ++part) {
    for (int v = 0; v < kPanelVectors; ++v) {
      scales.scale[part][v] = load_signed(in + (2 + 2 * index + part) * kPanelRows + v * kLanes);
    }
  }
  scale_by(in, scales);
}

// Three bits, too large by 4: d, sixteen scales, blocks of two low bits and the high bit.
struct Q3_K_Panel : BlockFormat {
  static constexpr DType kType = DType::kQ3_K;
  static constexpr const char* kName = "q3_k";
  static constexpr int kBits = 4, kOffset = 4, kParts = 2, kUnitBlocks = 8, kUnitBytesPerRow = 114;

  static void pack_row(const uint8_t* row, int64_t unit, int r, uint8_t* out) {
    const uint8_t* in = row + unit * 110;  // 32 bytes of high bits, 64 of low pairs, 12 of scales, d
    __builtin_memcpy(out + 2 * r, in + 108, 2);
    for (int i = 0; i < 16; ++i) {
      const int low = i < 8 ? in[96 + i] & 15 : in[96 + i - 8] >> 4;
      const int high = (in[104 + i % 4] >> (2 * (i / 4))) & 3;
      out[(2 + i) * kPanelRows + r] = static_cast<uint8_t>((low | high << 4) - 32);
    }
    for (int index = 0; index < 8; ++index) {
      uint8_t pair[32], high[32];
      take_bits(in + 32 + index / 4 * 32, index % 4 * 2, 3, pair);
      take_bits(in, index, 1, high);
      uint8_t* block = out + (18 + 12 * index) * kPanelRows;
      place_bit_pairs(pair, r, block);
      place_single_bits(high, r, block + 8 * kPanelRows);
    }
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int index, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q3_K_Panel>& scales) {
    load_signed_scales(in, index, scales);
    const uint8_t* block = in + (18 + 12 * index) * kPanelRows;
    load_bit_pairs(block, 0, q);
    join_single_bits(block + 8 * kPanelRows, 2, q);
  }
};

// Six bits, too large by 32: d, sixteen scales, blocks of nibbles and the two high bits.
struct Q6_K_Panel : BlockFormat {
  static constexpr DType kType = DType::kQ6_K;
  static constexpr const char* kName = "q6_k";
  static constexpr int kBits = 6, kOffset = 32, kParts = 2, kUnitBlocks = 8, kUnitBytesPerRow = 210;

  static void pack_row(const uint8_t* row, int64_t unit, int r, uint8_t* out) {
    const uint8_t* in = row + unit * 210;  // 128 bytes of low halves, 64 of high pairs, 16 scales, d
    __builtin_memcpy(out + 2 * r, in + 208, 2);
    for (int i = 0; i < 16; ++i) out[(2 + i) * kPanelRows + r] = in[192 + i];
    for (int index = 0; index < 8; ++index) {
      const int half = index / 4, plane = index % 4;
      uint8_t low[32], pair[32];
      take_bits(in + 64 * half + plane % 2 * 32, plane / 2 * 4, 15, low);
      take_bits(in + 128 + 32 * half, 2 * plane, 3, pair);
      uint8_t* block = out + (18 + 24 * index) * kPanelRows;
      place_nibbles(low, r, block);
      place_bit_pairs(pair, r, block + 16 * kPanelRows);
    }
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int index, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<Q6_K_Panel>& scales) {
    load_signed_scales(in, index, scales);
    const uint8_t* block = in + (18 + 24 * index) * kPanelRows;
    Bytes high[8][kPanelVectors];
    load_nibbles(block, q);
    load_bit_pairs(block + 16 * kPanelRows, 4, high);
    for (int g = 0; g < 8; ++g) {
      for (int v = 0; v < kPanelVectors; ++v) q[g][v] = join(q[g][v], high[g][v]);
    }
  }
};
