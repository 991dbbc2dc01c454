// Q5_0 and Q5_1, packed at the file's own size: as Q4, with a plane of fifth bits. Byte (lane, j) of the plane's vector
// v holds in bit g the fifth bit of k = 4g + j.
INGLE_INLINE void pack_fifth_bits(const uint8_t* in, int r, uint8_t* plane) {
  uint32_t bits;
  __builtin_memcpy(&bits, in, 4);
  uint8_t* bytes = plane + (r / kLanes) * kVectorBytes + (r % kLanes) * 4;
  for (int j = 0; j < 4; ++j) {
    uint8_t byte = 0;
    for (int g = 0; g < 8; ++g) byte = static_cast<uint8_t>(byte | (((bits >> (4 * g + j)) & 1) << g));
    bytes[j] = byte;
  }
}
INGLE_INLINE void load_five_bits(const uint8_t* plane, const uint8_t* nibbles, Bytes (&q)[8][kPanelVectors]) {
  load_nibbles(nibbles, q);
  for (int v = 0; v < kPanelVectors; ++v) {
    const Bytes bits = load_bytes(plane + v * kVectorBytes);
    for (int g = 0; g < 8; ++g) q[g][v] = with_fifth_bit(q[g][v], bits, g);
  }
}

struct Q5_0Panel {
  static constexpr DType kType = DType::kQ5_0;
  static constexpr const char* kName = "q5_0";
  static constexpr int kBits = 5, kOffset = 16, kBytesPerRow = 22;
  static constexpr bool kMinimum = false;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 22;
    __builtin_memcpy(out + 2 * r, in, 2);
    pack_fifth_bits(in + 2, r, out + 2 * kPanelRows);
    Q4_0Panel::pack_nibbles(in + 6, r, out + 6 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, Bytes (&q)[8][kPanelVectors], F32 (&scale)[kPanelVectors],
                                  F32 (&)[kPanelVectors]) {
    load_half_scales(in, scale);
    load_five_bits(in + 2 * kPanelRows, in + 6 * kPanelRows, q);
  }
};

struct Q5_1Panel {
  static constexpr DType kType = DType::kQ5_1;
  static constexpr const char* kName = "q5_1";
  static constexpr int kBits = 5, kOffset = 0, kBytesPerRow = 24;
  static constexpr bool kMinimum = true;

  static void pack_row(const uint8_t* row, int64_t block, int r, uint8_t* out) {
    const uint8_t* in = row + block * 24;
    __builtin_memcpy(out + 2 * r, in, 2);
    __builtin_memcpy(out + 2 * kPanelRows + 2 * r, in + 2, 2);
    pack_fifth_bits(in + 4, r, out + 4 * kPanelRows);
    Q4_0Panel::pack_nibbles(in + 8, r, out + 8 * kPanelRows);
  }
  INGLE_INLINE static void unpack(const uint8_t* in, Bytes (&q)[8][kPanelVectors], F32 (&scale)[kPanelVectors],
                                  F32 (&minimum)[kPanelVectors]) {
    load_half_scales(in, scale);
    load_half_scales(in + 2 * kPanelRows, minimum);
    load_five_bits(in + 4 * kPanelRows, in + 8 * kPanelRows, q);
  }
};
