// Formats whose four bits index a table of sixteen levels: IQ4_NL, IQ4_XS, MXFP4. Packed as nibbles behind the scales
// of all rows; the table turns them into bytes, in the form the product wants, when they are unpacked.
struct LevelTable {
  alignas(16) int8_t byte[16];
};
constexpr LevelTable level_table(const int8_t (&levels)[16]) {
  LevelTable table{};
  for (int i = 0; i < 16; ++i) table.byte[i] = static_cast<int8_t>(static_cast<uint8_t>(levels[i] + kByteOffset));
  return table;
}
static constexpr LevelTable kUnevenLevels = level_table(kIQ4Levels);
static constexpr LevelTable kFp4Levels = level_table(kFp4DoubledLevels);

INGLE_INLINE void load_levels(const LevelTable& table, const uint8_t* nibbles, Bytes (&q)[8][kPanelVectors]) {
  load_nibbles(nibbles, q);
  for (int g = 0; g < 8; ++g) {
    for (int v = 0; v < kPanelVectors; ++v) q[g][v] = lookup16(table.byte, q[g][v]);
  }
}

struct IQ4_NL_Panel : BlockFormat {
  static constexpr DType kType = DType::kIQ4_NL;
  static constexpr const char* kName = "iq4_nl";
  static constexpr int kBits = 8, kOffset = kByteOffset, kUnitBytesPerRow = 18;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    Q4_0Panel::pack_row(row, block, r, out);  // f16 scale and nibbles alike
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<IQ4_NL_Panel>& scales) {
    load_half_scales(in, scales.scale[0]);
    load_levels(kUnevenLevels, in + 2 * kPanelRows, q);
  }
};

// A unit is a 256-block: f16 d, eight scales of six bits less 32 as a byte each, then the nibbles.
struct IQ4_XS_Panel : BlockFormat {
  static constexpr DType kType = DType::kIQ4_XS;
  static constexpr const char* kName = "iq4_xs";
  static constexpr int kBits = 8, kOffset = kByteOffset, kUnitBlocks = 8, kUnitBytesPerRow = 138;

  static void pack_row(const uint8_t* row, int64_t unit, int r, uint8_t* out) {
    const uint8_t* in = row + unit * 136;
    uint16_t high;
    __builtin_memcpy(out + 2 * r, in, 2);
    __builtin_memcpy(&high, in + 2, 2);
    for (int index = 0; index < 8; ++index) {
      const int low = (in[4 + index / 2] >> (index % 2 * 4)) & 15;
      out[(2 + index) * kPanelRows + r] = static_cast<uint8_t>((low | ((high >> (2 * index)) & 3) << 4) - 32);
      Q4_0Panel::pack_nibbles(in + 8 + 16 * index, r, out + (10 + 16 * index) * kPanelRows);
    }
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int index, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<IQ4_XS_Panel>& scales) {
    for (int v = 0; v < kPanelVectors; ++v) {
      scales.scale[0][v] = load_signed(in + (2 + index) * kPanelRows + v * kLanes);
    }
    scale_by(in, scales);
    load_levels(kUnevenLevels, in + (10 + 16 * index) * kPanelRows, q);
  }
};

// A power of two, halved because the levels are doubled.
struct MXFP4_Panel : BlockFormat {
  static constexpr DType kType = DType::kMXFP4;
  static constexpr const char* kName = "mxfp4";
  static constexpr int kBits = 8, kOffset = kByteOffset, kUnitBytesPerRow = 17;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 17;
    out[r] = in[0];
    Q4_0Panel::pack_nibbles(in + 1, r, out + kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, int, Bytes (&q)[8][kPanelVectors],
                                  BlockScales<MXFP4_Panel>& scales) {
    for (int v = 0; v < kPanelVectors; ++v) scales.scale[0][v] = load_powers(in + v * kLanes);
    load_levels(kFp4Levels, in + kPanelRows, q);
  }
};
