// The formats that quant/ reads as codes: codebooks, ternary digits, NVFP4. Blocks lie as in the file, those of a
// panel's rows together; they become bytes and scales (one for each 16) when they are expanded, also for a few tokens.
using CodesArithmetic = Arithmetic<8, kByteOffset, false, 2>;

template <DType type, int unit_blocks, int unit_bytes>
struct CodesPanel : BlockFormat {
  static constexpr DType kType = type;
  static constexpr int kParts = 2, kUnitBlocks = unit_blocks, kUnitBytesPerRow = unit_bytes;

  static void pack_row(const uint8_t* row, int64_t unit, int r, uint8_t* out) {
    __builtin_memcpy(out + r * unit_bytes, row + unit * unit_bytes, unit_bytes);
  }
};

template <class Format>
static void expand_codes(const uint8_t* panel, int64_t blocks, uint8_t* expanded) noexcept {
  const auto read = format_of(Format::kType).codes;
  constexpr int kUnit = Format::kUnitBytesPerRow * kPanelRows;
  for (int64_t b = 0; b < blocks; ++b, expanded += expanded_bytes_per_row<CodesArithmetic>() * kPanelRows) {
    const uint8_t* unit = panel + b / Format::kUnitBlocks * kUnit;
    float* scales = reinterpret_cast<float*>(expanded + 32 * kPanelRows);
    for (int r = 0; r < kPanelRows; ++r) {
      Codes codes;
      read(reinterpret_cast<const std::byte*>(unit + r * Format::kUnitBytesPerRow),
           static_cast<int>(b % Format::kUnitBlocks), codes);
      for (int g = 0; g < 8; ++g) __builtin_memcpy(expanded + expanded_place(r, 4 * g), codes.q + 4 * g, 4);
      scales[r] = codes.scale[0];
      scales[kPanelRows + r] = codes.scale[1];
    }
    if constexpr (kByteUnsigned) {
      for (int i = 0; i < 32 * kPanelRows; i += kVectorBytes) {
        store_vector(expanded + i, flip_sign_bit(load_bytes(expanded + i)));
      }
    }
  }
}

// A 256-block at a time, through L1.
template <class Format, int Y>
static void gemv_codes(const uint8_t* const* panels, float* const* acc, int count, int64_t blocks,
                       const uint8_t* x) noexcept {
  constexpr int kChunk = 8;
  alignas(64) uint8_t expanded[kChunk * expanded_bytes_per_row<CodesArithmetic>() * kPanelRows];
  for (int p = 0; p < count; ++p) {
    for (int64_t b = 0; b < blocks; b += kChunk) {
      const int64_t chunk = blocks - b < kChunk ? blocks - b : kChunk;
      const uint8_t* units = panels[p] + b / Format::kUnitBlocks * Format::kUnitBytesPerRow * kPanelRows;
      expand_codes<Format>(units, chunk, expanded);
      tile_of<CodesArithmetic, Y>()(expanded, chunk, x + b * kActivationBytes * Y, acc[p], b > 0);
    }
  }
}

template <class Format>
constexpr IntFormat codes_format(const char* name) {
  using A = CodesArithmetic;
  return {
      .type = Format::kType,
      .name = name,
      .bits = A::kBits,
      .unit_blocks = Format::kUnitBlocks,
      .unit_bytes_per_row = Format::kUnitBytesPerRow,
      .pack = pack_panel<Format>,
      .gemv = {gemv_codes<Format, 1>, gemv_codes<Format, 2>, gemv_codes<Format, 3>, gemv_codes<Format, 4>},
      .expand = expand_codes<Format>,
      .expanded_bytes_per_row = expanded_bytes_per_row<A>(),
      .tile = {tile_of<A, 1>(), tile_of<A, 2>(), tile_of<A, 3>(), tile_of<A, 4>(), tile_of<A, 5>(), tile_of<A, 6>()}};
}
