// Q4_K and Q5_K. Their scales are products (d times six bits, dmin times six bits), which are kept in f32: exact, and
// the product needs no second level. Per 32: f32 scales of all rows, f32 minima, Q5_K's fifth bits as in Q5_0, then
// nibbles.
struct K_Offset {
  // Of sub-block `index` of a 256-block at `in`; both formats start with d, dmin and the twelve bytes of scales.
  static void pack_scales(const uint8_t* in, int index, int r, uint8_t* out) {
    uint16_t d, dmin;
    __builtin_memcpy(&d, in, 2);
    __builtin_memcpy(&dmin, in + 2, 2);
    const ScaleMin bits = unpack_scale_min(in + 4, index);
    const float scale = f16_to_f32(d) * static_cast<float>(bits.scale);
    const float minimum = -(f16_to_f32(dmin) * static_cast<float>(bits.min));
    __builtin_memcpy(out + 4 * r, &scale, 4);
    __builtin_memcpy(out + 4 * kPanelRows + 4 * r, &minimum, 4);
  }
  // Two sub-blocks share 32 bytes: the even one has the low halves.
  static void pack_nibbles(const uint8_t* qs, int index, int r, uint8_t* out) {
    uint8_t q[32];
    for (int l = 0; l < 32; ++l) q[l] = (qs[index / 2 * 32 + l] >> (index % 2 * 4)) & 15;
    place_nibbles(q, r, out);
  }
};

struct Q4_K_Panel {
  static constexpr DType kType = DType::kQ4_K;
  static constexpr const char* kName = "q4_k";
  static constexpr int kBits = 4, kOffset = 0, kBytesPerRow = 24;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block / 8 * 144;
    const int index = static_cast<int>(block % 8);
    K_Offset::pack_scales(in, index, r, out);
    K_Offset::pack_nibbles(in + 16, index, r, out + 8 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, Bytes (&q)[8][kPanelVectors], F32 (&scale)[kPanelVectors],
                                  F32 (&minimum)[kPanelVectors]) {
    load_float_scales(in, scale);
    load_float_scales(in + 4 * kPanelRows, minimum);
    load_nibbles(in + 8 * kPanelRows, q);
  }
};

struct Q5_K_Panel {
  static constexpr DType kType = DType::kQ5_K;
  static constexpr const char* kName = "q5_k";
  static constexpr int kBits = 5, kOffset = 0, kBytesPerRow = 28;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block / 8 * 176;
    const int index = static_cast<int>(block % 8);
    K_Offset::pack_scales(in, index, r, out);
    uint32_t fifth = 0;  // bit `index` of byte l belongs to element l
    for (int l = 0; l < 32; ++l) fifth |= static_cast<uint32_t>((in[16 + l] >> index) & 1) << l;
    uint8_t bits[4];
    __builtin_memcpy(bits, &fifth, 4);
    pack_fifth_bits(bits, r, out + 8 * kPanelRows);
    K_Offset::pack_nibbles(in + 48, index, r, out + 12 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, Bytes (&q)[8][kPanelVectors], F32 (&scale)[kPanelVectors],
                                  F32 (&minimum)[kPanelVectors]) {
    load_float_scales(in, scale);
    load_float_scales(in + 4 * kPanelRows, minimum);
    load_five_bits(in + 8 * kPanelRows, in + 12 * kPanelRows, q);
  }
};
