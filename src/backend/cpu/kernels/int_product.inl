// The int8 product: gemv streams packed weights for a few tokens; expand and tile serve many. See kernels.h for the
// layouts and the order of the sums, which is the same in both.
template <class Format>
static void pack_panel(const uint8_t* const* rows, int64_t blocks, uint8_t* panel) noexcept {
  constexpr size_t kUnit = static_cast<size_t>(Format::kUnitBytesPerRow) * kPanelRows;
  const int64_t units = blocks / Format::kUnitBlocks;
  bool whole = true;
  for (int r = 0; r < kPanelRows; ++r) whole = whole && rows[r] != nullptr;
  if (!whole) __builtin_memset(panel, 0, kUnit * static_cast<size_t>(units));
  for (int64_t u = 0; u < units; ++u, panel += kUnit) {
    for (int r = 0; r < kPanelRows; ++r) {
      if (rows[r] != nullptr) Format::pack_row(rows[r], u, r, panel);
    }
  }
}

constexpr int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

// What stands behind the bytes of one block of a group of Y tokens, by part: the whole block, or its two halves.
template <class Format, int Y>
struct TokenFactors {
  const uint8_t* at;
  INGLE_INLINE explicit TokenFactors(const uint8_t* x) : at(x + 32 * Y) {}
  INGLE_INLINE float scale(int y) const { return number<float>(y, 0); }
  // What a sum begins with: kSumBias, less what the weights are too large by times the sum of x.
  INGLE_INLINE I32 initial(int y, int part) const {
    if constexpr (Format::kOffset == 0) return set1_int(kSumBias);
    const int32_t of_bytes = start(y, part);
    if constexpr (Format::kOffset == 128) return set1_int(of_bytes);
    constexpr int kShift = 7 - log2_of(Format::kOffset);
    if constexpr (kSumBias == 0) return shift_right(set1_int(of_bytes), kShift);
    return set1_int(((of_bytes - kSumBias) >> kShift) + kSumBias);
  }
  // d * sum of the part: what its minimum is multiplied by.
  INGLE_INLINE float sum(int y, int part) const {
    if constexpr (Format::kParts == 1) return number<float>(y, 2);
    return scale(y) * static_cast<float>((kSumBias - start(y, part)) / 128);
  }

 private:
  template <class T>
  INGLE_INLINE T number(int y, int field) const {
    T value;
    __builtin_memcpy(&value, at + 4 * (field * Y + y), 4);
    return value;
  }
  INGLE_INLINE int32_t start(int y, int part) const { return number<int32_t>(y, Format::kParts == 1 ? 1 : 3 + part); }
};

// What turns sums of a part into the numbers that they stand for, by vectors of rows.
struct PartScale {
  F32 scale[kPanelVectors], bias[kPanelVectors];  // bias: what kSumBias makes of scale, negative

  INGLE_INLINE explicit PartScale(const F32 (&of_weights)[kPanelVectors]) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) {
      scale[v] = of_weights[v];
      if constexpr (kSumBias != 0) bias[v] = mul(scale[v], set1(-kSumBiasValue));
    }
  }
  // The sum without its bias times the scale, rounded once: biased sums are floats as they are, (bias + sum) * scale
  // is exact inside a fused operation, and so is bias * scale, because no format's scale has more than 22 bits.
  INGLE_INLINE F32 operator()(I32 sum, int v) const {
    if constexpr (kSumBias == 0) return mul(to_float(sum), scale[v]);
    return fma(as_float(sum), scale[v], bias[v]);
  }
};

// One part of one token: the sum so far, plus its integer dot product times the scales, plus its minimum.
template <class Format, int Y>
INGLE_INLINE F32 add_part(F32 sum, I32 dot, const PartScale& scale, const BlockScales<Format>& block,
                          const TokenFactors<Format, Y>& factors, int y, int part, int v) {
  sum = fma(scale(dot, v), set1(factors.scale(y)), sum);
  if constexpr (Format::kMinimum) sum = fma(block.minimum[part][v], set1(factors.sum(y, part)), sum);
  return sum;
}

// P panels side by side, block by block.
template <class Format, int Y, int P>
static void gemv_side_by_side(const uint8_t* const* panels, float* const* acc, int64_t blocks,
                              const uint8_t* x) noexcept {
  using Dot = BlockDot<Format::kBits>;
  constexpr size_t kUnit = static_cast<size_t>(Format::kUnitBytesPerRow) * kPanelRows;
  constexpr int kGroups = 8 / Format::kParts;  // of four k, in a part
  const uint8_t* panel[P];
  F32 sum[P][Y][kPanelVectors];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
    panel[p] = panels[p];
#pragma GCC unroll 16
    for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) sum[p][y][v] = zero();
    }
  }
  for (int64_t at = 0; at < blocks / Format::kUnitBlocks * static_cast<int64_t>(kUnit); at += kUnit) {
    for (int index = 0; index < Format::kUnitBlocks; ++index, x += kActivationBytes * Y) {
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        const uint8_t* ahead = panel[p] + at + static_cast<size_t>(index) * (kUnit / Format::kUnitBlocks) + 2048;
#pragma GCC unroll 16
        for (size_t line = 0; line < kUnit / Format::kUnitBlocks; line += 64) __builtin_prefetch(ahead + line);
        Bytes q[8][kPanelVectors];
        BlockScales<Format> scales;
        Format::unpack(panel[p] + at, index, q, scales);
        const TokenFactors<Format, Y> factors(x);
#pragma GCC unroll 2
        for (int part = 0; part < Format::kParts; ++part) {
          const PartScale scale(scales.scale[part]);
#pragma GCC unroll 16
          for (int y = 0; y < Y; ++y) {
            const I32 initial = factors.initial(y, part);
            Dot dot[kPanelVectors];
#pragma GCC unroll 4
            for (int v = 0; v < kPanelVectors; ++v) dot[v].start(initial);
#pragma GCC unroll 8
            for (int i = 0; i < kGroups; ++i) {
              const int g = part * kGroups + i;
              const Bytes xs = broadcast4(x + activation_place(g, y, Y));
#pragma GCC unroll 4
              for (int v = 0; v < kPanelVectors; ++v) dot[v].step(Dot::prepare(q[g][v]), xs, i);
            }
#pragma GCC unroll 4
            for (int v = 0; v < kPanelVectors; ++v) {
              sum[p][y][v] = add_part(sum[p][y][v], dot[v].finish(initial), scale, scales, factors, y, part, v);
            }
          }
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 16
    for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) store(acc[p] + y * kPanelRows + v * kLanes, sum[p][y][v]);
    }
  }
}

template <class Format, int Y>
static void gemv_panels(const uint8_t* const* panels, float* const* acc, int count, int64_t blocks,
                        const uint8_t* x) noexcept {
  constexpr int kTogether = Y == 1 ? kGemvPanels : kGemvPanels / 2 + kGemvPanels % 2;  // sums of more need registers
  int p = 0;
  for (; p + kTogether <= count; p += kTogether) {
    gemv_side_by_side<Format, Y, kTogether>(panels + p, acc + p, blocks, x);
  }
  for (; p < count; ++p) gemv_side_by_side<Format, Y, 1>(panels + p, acc + p, blocks, x);
}

template <class Format>
constexpr size_t expanded_bytes_per_row() {
  return 32 + 4 * Format::kParts * (Format::kMinimum ? 2 : 1);
}

// What the arithmetic of a block is told by: formats that agree in it share their tiles.
template <int bits, int offset, bool minimum, int parts>
struct Arithmetic {
  static constexpr int kBits = bits, kOffset = offset, kParts = parts;
  static constexpr bool kMinimum = minimum;
};
// Where few bits are no faster, weights are expanded to whole bytes, in the instruction set's own form.
template <class Format>
using ArithmeticOf = Arithmetic<kFewBitsAreFaster ? Format::kBits : 8,
                                kFewBitsAreFaster ? Format::kOffset : kByteOffset, Format::kMinimum, Format::kParts>;

// Where weight k of panel row r stands in an expanded block: as packed, or, where products take two tokens (and two
// rows) at once, [4][vector][row][8].
INGLE_INLINE int expanded_place(int r, int k) {
  if (!kTokenPairs) return byte_place(r, k);
  return (k / 8 * kPanelVectors + r / kLanes) * 2 * kVectorBytes + r % kLanes * 8 + k % 8;
}

template <class Format>
INGLE_INLINE void store_row_pairs(const Bytes (&q)[8][kPanelVectors], uint8_t* expanded) {
  using Dot = PairDot<Format::kBits>;
  for (int g = 0; g < 8; g += 2) {
    for (int v = 0; v < kPanelVectors; ++v, expanded += 2 * kVectorBytes) {
      store_vector(expanded, Dot::low_rows(q[g][v], q[g + 1][v]));
      store_vector(expanded + kVectorBytes, Dot::high_rows(q[g][v], q[g + 1][v]));
    }
  }
}

template <class Format>
static void expand_panel(const uint8_t* panel, int64_t blocks, uint8_t* expanded) noexcept {
  constexpr size_t kUnit = static_cast<size_t>(Format::kUnitBytesPerRow) * kPanelRows;
  for (int64_t unit = 0; unit < blocks / Format::kUnitBlocks; ++unit, panel += kUnit) {
    for (int index = 0; index < Format::kUnitBlocks; ++index) {
      Bytes q[8][kPanelVectors];
      BlockScales<Format> block;
      Format::unpack(panel, index, q, block);
      if constexpr (constexpr int kOffBy = ArithmeticOf<Format>::kOffset - Format::kOffset; kOffBy != 0) {
        for (auto& group : q) {
          for (Bytes& bytes : group) bytes = add_to_bytes(bytes, kOffBy);
        }
      }
      if constexpr (kTokenPairs) {
        store_row_pairs<Format>(q, expanded);
      } else {
        for (int g = 0; g < 8; ++g) {
          for (int v = 0; v < kPanelVectors; ++v) {
            store_vector(expanded + (g * kPanelVectors + v) * kVectorBytes, q[g][v]);
          }
        }
      }
      float* scales = reinterpret_cast<float*>(expanded + 32 * kPanelRows);
      for (int part = 0; part < Format::kParts; ++part) {
        for (int v = 0; v < kPanelVectors; ++v) {
          store(scales + part * kPanelRows + v * kLanes, block.scale[part][v]);
          if constexpr (Format::kMinimum) {
            store(scales + (Format::kParts + part) * kPanelRows + v * kLanes, block.minimum[part][v]);
          }
        }
      }
      expanded += expanded_bytes_per_row<Format>() * kPanelRows;
    }
  }
}

template <class Format, int Y>
static void tile_panel(const uint8_t* w, int64_t blocks, const uint8_t* x, float* acc, bool resume) noexcept {
  using Dot = BlockDot<Format::kBits>;
  constexpr int kGroups = 8 / Format::kParts;  // of four k, in a part
  F32 sum[Y][kPanelVectors];
#pragma GCC unroll 16
  for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) sum[y][v] = resume ? load(acc + y * kPanelRows + v * kLanes) : zero();
  }
  for (int64_t b = 0; b < blocks; ++b) {
    const TokenFactors<Format, Y> factors(x);
    const float* scales = reinterpret_cast<const float*>(w + 32 * kPanelRows);
#pragma GCC unroll 2
    for (int part = 0; part < Format::kParts; ++part) {
      Dot dot[Y][kPanelVectors];
#pragma GCC unroll 16
      for (int y = 0; y < Y; ++y) {
        const I32 initial = factors.initial(y, part);
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) dot[y][v].start(initial);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kGroups; ++i) {
        const int g = part * kGroups + i;
        typename Dot::Weight q[kPanelVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v)
          q[v] = Dot::prepare(load_bytes(w + (g * kPanelVectors + v) * kVectorBytes));
#pragma GCC unroll 16
        for (int y = 0; y < Y; ++y) {
          const Bytes xs = broadcast4(x + activation_place(g, y, Y));
#pragma GCC unroll 4
          for (int v = 0; v < kPanelVectors; ++v) dot[y][v].step(q[v], xs, i);
        }
      }
      BlockScales<Format> block;
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) {
        block.scale[part][v] = load(scales + part * kPanelRows + v * kLanes);
        if constexpr (Format::kMinimum) {
          block.minimum[part][v] = load(scales + (Format::kParts + part) * kPanelRows + v * kLanes);
        }
      }
      const PartScale scale(block.scale[part]);
#pragma GCC unroll 16
      for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) {
          const I32 total = dot[y][v].finish(factors.initial(y, part));
          sum[y][v] = add_part(sum[y][v], total, scale, block, factors, y, part, v);
        }
      }
    }
    w += expanded_bytes_per_row<Format>() * kPanelRows;
    x += kActivationBytes * Y;
  }
#pragma GCC unroll 16
  for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) store(acc + y * kPanelRows + v * kLanes, sum[y][v]);
  }
}

// The same where products take two tokens at once: the initial sums join at the end.
template <class Format, int Y>
static void tile_of_pairs(const uint8_t* w, int64_t blocks, const uint8_t* x, float* acc, bool resume) noexcept {
  constexpr int kPairs = (Y + 1) / 2;         // the last may be half empty: what it reads and sums there is not used
  constexpr int kSteps = 4 / Format::kParts;  // of eight k, in a part
  F32 sum[Y][kPanelVectors];
#pragma GCC unroll 16
  for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) sum[y][v] = resume ? load(acc + y * kPanelRows + v * kLanes) : zero();
  }
  for (int64_t b = 0; b < blocks; ++b) {
    const TokenFactors<Format, Y> factors(x);
    const float* scales = reinterpret_cast<const float*>(w + 32 * kPanelRows);
#pragma GCC unroll 2
    for (int part = 0; part < Format::kParts; ++part) {
      PairDot<Format::kBits> dot[kPairs][kPanelVectors];
#pragma GCC unroll 4
      for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) dot[p][v].start();
      }
#pragma GCC unroll 4
      for (int i = part * kSteps; i < (part + 1) * kSteps; ++i) {
        Bytes xs[kPairs];
#pragma GCC unroll 4
        for (int p = 0; p < kPairs; ++p) xs[p] = load_bytes(x + activation_place(2 * i, 2 * p, Y));
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) {
          const uint8_t* rows = w + (i * kPanelVectors + v) * 2 * kVectorBytes;
          const Bytes low = load_bytes(rows), high = load_bytes(rows + kVectorBytes);
#pragma GCC unroll 4
          for (int p = 0; p < kPairs; ++p) dot[p][v].step(low, high, xs[p]);
        }
      }
      BlockScales<Format> block;
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) {
        block.scale[part][v] = load(scales + part * kPanelRows + v * kLanes);
        if constexpr (Format::kMinimum) {
          block.minimum[part][v] = load(scales + (Format::kParts + part) * kPanelRows + v * kLanes);
        }
      }
      const PartScale scale(block.scale[part]);
#pragma GCC unroll 16
      for (int y = 0; y < Y; ++y) {
        const I32 initial = factors.initial(y, part);
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) {
          const I32 total = dot[y / 2][v].finish(y % 2, initial);
          sum[y][v] = add_part(sum[y][v], total, scale, block, factors, y, part, v);
        }
      }
    }
    w += expanded_bytes_per_row<Format>() * kPanelRows;
    x += kActivationBytes * Y;
  }
#pragma GCC unroll 16
  for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) store(acc + y * kPanelRows + v * kLanes, sum[y][v]);
  }
}

template <class Format, int Y>
constexpr auto tile_of() {
  if constexpr (kTokenPairs) {
    return tile_of_pairs<Format, Y>;
  } else {
    return tile_panel<Format, Y>;
  }
}

template <class Format, class A = ArithmeticOf<Format>>
constexpr IntFormat int_format() {
  return {
      .type = Format::kType,
      .name = Format::kName,
      .bits = Format::kBits,
      .unit_blocks = Format::kUnitBlocks,
      .unit_bytes_per_row = Format::kUnitBytesPerRow,
      .pack = pack_panel<Format>,
      .gemv = {gemv_panels<Format, 1>, gemv_panels<Format, 2>, gemv_panels<Format, 3>, gemv_panels<Format, 4>},
      .expand = expand_panel<Format>,
      .expanded_bytes_per_row = expanded_bytes_per_row<Format>(),
      .tile = {tile_of<A, 1>(), tile_of<A, 2>(), tile_of<A, 3>(), tile_of<A, 4>(), tile_of<A, 5>(), tile_of<A, 6>()}};
}

// One row of a group at one block: 32 numbers times `steps` as bytes, and their scale.
INGLE_INLINE void store_quantized(const F32 (&v)[32 / kLanes], F32 steps, float scale, int y, int rows,
                                  uint8_t* group) {
  alignas(64) int8_t q[32];
  for (int i = 0; i < 32 / kLanes; ++i) store_bytes(q + i * kLanes, to_int(mul(v[i], steps)));
  asm("" : "+m"(q));  // words come from memory: taking them out of a vector costs two of the busiest operations each
  for (int g = 0; g < 8; ++g) __builtin_memcpy(group + activation_place(g, y, rows), q + 4 * g, 4);
  const int32_t low = sum_of_16(q), high = sum_of_16(q + 16);
  const float scaled = scale * static_cast<float>(low + high);
  const int32_t start[3] = {kSumBias - 128 * (low + high), kSumBias - 128 * low, kSumBias - 128 * high};
  __builtin_memcpy(group + 32 * rows + 4 * y, &scale, 4);
  __builtin_memcpy(group + 36 * rows + 4 * y, start, 4);
  __builtin_memcpy(group + 40 * rows + 4 * y, &scaled, 4);
  __builtin_memcpy(group + 44 * rows + 4 * y, start + 1, 4);
  __builtin_memcpy(group + 48 * rows + 4 * y, start + 2, 4);
}

// Quantises rows: per block of 32 the scale is amax / 127, values round to nearest even. A number that is not finite
// makes its block's scale NaN, so it is seen in the result.
template <int kTerms>
INGLE_INLINE void quantize_rows(const float* x, int64_t x_stride, int rows, int64_t blocks, uint8_t* group) {
  for (int64_t b = 0; b < blocks; ++b, x += 32, group += kActivationBytes * rows * kTerms) {
    for (int y = 0; y < rows; ++y) {
      F32 v[32 / kLanes], largest = zero();
      for (int i = 0; i < 32 / kLanes; ++i) {
        v[i] = load(x + y * x_stride + i * kLanes);
        largest = max_magnitude(largest, abs(v[i]));
      }
      const float amax = max_of_magnitudes(largest);
      // Infinite and no number: the same less itself is NaN. Of what is too small 127 / amax overflows: it counts as 0.
      const float scale = amax / 127.0f + (amax - amax);
      const F32 in_steps = set1(amax > 1e-36f ? 127.0f / amax : 0.0f);
      store_quantized(v, in_steps, scale, y * kTerms, rows * kTerms, group);
      if constexpr (kTerms == 2) {
        for (int i = 0; i < 32 / kLanes; ++i) {
          // What is left is at most half a step; a little more where v rounded up to 127.
          v[i] = mul(v[i], in_steps);
          v[i] = mul(sub(v[i], round(v[i])), set1(254.0f));
          v[i] = max(min(v[i], set1(127.0f)), set1(-127.0f));
        }
        store_quantized(v, set1(1.0f), scale / 254.0f, y * kTerms + 1, rows * kTerms, group);
      }
    }
  }
}

static void quantize_group(const float* x, int64_t x_stride, int rows, int terms, int64_t blocks,
                           uint8_t* group) noexcept {
  if (terms == 1) {
    quantize_rows<1>(x, x_stride, rows, blocks, group);
  } else {
    quantize_rows<2>(x, x_stride, rows, blocks, group);
  }
}
