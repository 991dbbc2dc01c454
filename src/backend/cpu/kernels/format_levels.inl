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

struct IQ4_NL_Panel {
  static constexpr DType kType = DType::kIQ4_NL;
  static constexpr const char* kName = "iq4_nl";
  static constexpr int kBits = 8, kOffset = kByteOffset, kBytesPerRow = 18;
  static constexpr bool kMinimum = false;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 18;
    __builtin_memcpy(out + 2 * r, in, 2);
    Q4_0Panel::pack_nibbles(in + 2, r, out + 2 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, Bytes (&q)[8][kPanelVectors], F32 (&scale)[kPanelVectors],
                                  F32 (&)[kPanelVectors]) {
    load_half_scales(in, scale);
    load_levels(kUnevenLevels, in + 2 * kPanelRows, q);
  }
};

// d times six bits less 32, kept in f32: exact.
struct IQ4_XS_Panel {
  static constexpr DType kType = DType::kIQ4_XS;
  static constexpr const char* kName = "iq4_xs";
  static constexpr int kBits = 8, kOffset = kByteOffset, kBytesPerRow = 20;
  static constexpr bool kMinimum = false;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block / 8 * 136;
    const int index = static_cast<int>(block % 8);
    uint16_t d, high;
    __builtin_memcpy(&d, in, 2);
    __builtin_memcpy(&high, in + 2, 2);
    const int low = (in[4 + index / 2] >> (index % 2 * 4)) & 15;
    const float scale = f16_to_f32(d) * static_cast<float>((low | ((high >> (2 * index)) & 3) << 4) - 32);
    __builtin_memcpy(out + 4 * r, &scale, 4);
    Q4_0Panel::pack_nibbles(in + 8 + 16 * index, r, out + 4 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, Bytes (&q)[8][kPanelVectors], F32 (&scale)[kPanelVectors],
                                  F32 (&)[kPanelVectors]) {
    load_float_scales(in, scale);
    load_levels(kUnevenLevels, in + 4 * kPanelRows, q);
  }
};

// A power of two that f16 does not hold, halved because the levels are doubled.
struct MXFP4_Panel {
  static constexpr DType kType = DType::kMXFP4;
  static constexpr const char* kName = "mxfp4";
  static constexpr int kBits = 8, kOffset = kByteOffset, kBytesPerRow = 20;
  static constexpr bool kMinimum = false;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 17;
    const float scale = mxfp4_half_scale(in[0]);
    __builtin_memcpy(out + 4 * r, &scale, 4);
    Q4_0Panel::pack_nibbles(in + 1, r, out + 4 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, Bytes (&q)[8][kPanelVectors], F32 (&scale)[kPanelVectors],
                                  F32 (&)[kPanelVectors]) {
    load_float_scales(in, scale);
    load_levels(kFp4Levels, in + 4 * kPanelRows, q);
  }
};
