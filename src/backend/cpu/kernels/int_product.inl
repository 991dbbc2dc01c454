// The int8 product: gemv streams packed weights for a few tokens; expand and tile serve many. See kernels.h for the
// layouts and the order of the sums, which is the same in both.
template <class Format>
static void pack_panel(const uint8_t* const* rows, int64_t blocks, uint8_t* panel) noexcept {
  constexpr size_t kBlock = static_cast<size_t>(Format::kBytesPerRow) * kPanelRows;
  __builtin_memset(panel, 0, kBlock * static_cast<size_t>(blocks));
  for (int64_t b = 0; b < blocks; ++b, panel += kBlock) {
    for (int r = 0; r < kPanelRows; ++r) {
      if (rows[r] != nullptr) Format::pack_row(rows[r], b, r, panel);
    }
  }
}

constexpr int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

// The initial accumulator of a token: -offset * sum(x), where negative_sum is -sum(x).
template <int kOffset>
INGLE_INLINE I32 initial_sum(int32_t negative_sum) {
  if constexpr (kOffset == 0) return set1_int(0);
  return shift_left(set1_int(negative_sum), log2_of(kOffset));
}

template <class Format, int Y>
static void gemv_panel(const uint8_t* panel, int64_t blocks, const uint8_t* x, float* acc) noexcept {
  using Dot = BlockDot<Format::kBits>;
  constexpr size_t kBlock = static_cast<size_t>(Format::kBytesPerRow) * kPanelRows;
  F32 sum[Y][kPanelVectors];
#pragma GCC unroll 16
  for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) sum[y][v] = zero();
  }
  for (int64_t b = 0; b < blocks; ++b, panel += kBlock, x += kActivationBytes * Y) {
    __builtin_prefetch(panel + 2048);
    __builtin_prefetch(panel + 2048 + 256);
    Bytes q[8][kPanelVectors];
    F32 scale[kPanelVectors], minimum[kPanelVectors];
    Format::unpack(panel, q, scale, minimum);
    const float* d = reinterpret_cast<const float*>(x + 32 * Y);
    const int32_t* negative_sum = reinterpret_cast<const int32_t*>(x + 36 * Y);
    const float* s = reinterpret_cast<const float*>(x + 40 * Y);
#pragma GCC unroll 16
    for (int y = 0; y < Y; ++y) {
      const I32 initial = initial_sum<Format::kOffset>(negative_sum[y]);
      Dot dot[kPanelVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) dot[v].start(initial);
#pragma GCC unroll 8
      for (int g = 0; g < 8; ++g) {
        const Bytes xs = broadcast4(x + (g * Y + y) * 4);
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) dot[v].step(Dot::prepare(q[g][v]), xs, g);
      }
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) {
        sum[y][v] = fma(to_float(dot[v].finish(initial)), mul(scale[v], set1(d[y])), sum[y][v]);
        if constexpr (Format::kMinimum) sum[y][v] = fma(minimum[v], set1(s[y]), sum[y][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) store(acc + y * kPanelRows + v * kLanes, sum[y][v]);
  }
}

template <class Format>
constexpr size_t expanded_bytes_per_row() {
  return Format::kMinimum ? 40 : 36;
}

template <class Format>
static void expand_panel(const uint8_t* panel, int64_t blocks, uint8_t* expanded) noexcept {
  for (int64_t b = 0; b < blocks; ++b) {
    Bytes q[8][kPanelVectors];
    F32 scale[kPanelVectors], minimum[kPanelVectors];
    Format::unpack(panel, q, scale, minimum);
    for (int g = 0; g < 8; ++g) {
      for (int v = 0; v < kPanelVectors; ++v) store_vector(expanded + (g * kPanelVectors + v) * kVectorBytes, q[g][v]);
    }
    float* scales = reinterpret_cast<float*>(expanded + 32 * kPanelRows);
    for (int v = 0; v < kPanelVectors; ++v) store(scales + v * kLanes, scale[v]);
    if constexpr (Format::kMinimum) {
      for (int v = 0; v < kPanelVectors; ++v) store(scales + kPanelRows + v * kLanes, minimum[v]);
    }
    panel += static_cast<size_t>(Format::kBytesPerRow) * kPanelRows;
    expanded += expanded_bytes_per_row<Format>() * kPanelRows;
  }
}

template <class Format, int Y>
static void tile_panel(const uint8_t* w, int64_t blocks, const uint8_t* x, float* acc, bool resume) noexcept {
  using Dot = BlockDot<Format::kBits>;
  F32 sum[Y][kPanelVectors];
#pragma GCC unroll 16
  for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) sum[y][v] = resume ? load(acc + y * kPanelRows + v * kLanes) : zero();
  }
  for (int64_t b = 0; b < blocks; ++b) {
    const float* d = reinterpret_cast<const float*>(x + 32 * Y);
    const int32_t* negative_sum = reinterpret_cast<const int32_t*>(x + 36 * Y);
    Dot dot[Y][kPanelVectors];
#pragma GCC unroll 16
    for (int y = 0; y < Y; ++y) {
      const I32 initial = initial_sum<Format::kOffset>(negative_sum[y]);
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) dot[y][v].start(initial);
    }
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      typename Dot::Weight q[kPanelVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v)
        q[v] = Dot::prepare(load_bytes(w + (g * kPanelVectors + v) * kVectorBytes));
#pragma GCC unroll 16
      for (int y = 0; y < Y; ++y) {
        const Bytes xs = broadcast4(x + (g * Y + y) * 4);
#pragma GCC unroll 4
        for (int v = 0; v < kPanelVectors; ++v) dot[y][v].step(q[v], xs, g);
      }
    }
    const float* scales = reinterpret_cast<const float*>(w + 32 * kPanelRows);
    F32 scale[kPanelVectors], minimum[kPanelVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; ++v) scale[v] = load(scales + v * kLanes);
    if constexpr (Format::kMinimum) {
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) minimum[v] = load(scales + kPanelRows + v * kLanes);
    }
    const float* s = reinterpret_cast<const float*>(x + 40 * Y);
#pragma GCC unroll 16
    for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) {
        const I32 total = dot[y][v].finish(initial_sum<Format::kOffset>(negative_sum[y]));
        sum[y][v] = fma(to_float(total), mul(scale[v], set1(d[y])), sum[y][v]);
        if constexpr (Format::kMinimum) sum[y][v] = fma(minimum[v], set1(s[y]), sum[y][v]);
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

template <class Format>
constexpr IntFormat int_format() {
  return {.type = Format::kType,
          .name = Format::kName,
          .bits = Format::kBits,
          .block_bytes_per_row = Format::kBytesPerRow,
          .pack = pack_panel<Format>,
          .gemv = {gemv_panel<Format, 1>, gemv_panel<Format, 2>, gemv_panel<Format, 3>, gemv_panel<Format, 4>},
          .expand = expand_panel<Format>,
          .expanded_bytes_per_row = expanded_bytes_per_row<Format>(),
          .tile = {tile_panel<Format, 1>, tile_panel<Format, 2>, tile_panel<Format, 3>, tile_panel<Format, 4>,
                   tile_panel<Format, 5>, tile_panel<Format, 6>}};
}

// One row of a group at one block: 32 whole numbers from -127 to 127 (as floats), and their scale.
INGLE_INLINE void store_quantized(const F32 (&whole)[32 / kLanes], float scale, int y, int rows, uint8_t* group) {
  alignas(64) int8_t q[32];
  F32 total = zero();
  for (int i = 0; i < 32 / kLanes; ++i) {
    total = add(total, whole[i]);
    store_bytes(q + i * kLanes, to_int(whole[i]));
  }
  for (int g = 0; g < 8; ++g) __builtin_memcpy(group + (g * rows + y) * 4, q + 4 * g, 4);
  const float count = sum(total);  // of whole numbers: exact
  const int32_t negative = -static_cast<int32_t>(count);
  const float scaled = scale * count;
  __builtin_memcpy(group + 32 * rows + 4 * y, &scale, 4);
  __builtin_memcpy(group + 36 * rows + 4 * y, &negative, 4);
  __builtin_memcpy(group + 40 * rows + 4 * y, &scaled, 4);
}

// Quantises rows: per block of 32 the scale is amax / 127, values round to nearest even. A number that is not finite
// makes its block's scale NaN, so it is seen in the result.
template <int kTerms>
INGLE_INLINE void quantize_rows(const float* x, int64_t x_stride, int rows, int64_t blocks, uint8_t* group) {
  for (int64_t b = 0; b < blocks; ++b, x += 32, group += kActivationBytes * rows * kTerms) {
    for (int y = 0; y < rows; ++y) {
      F32 v[32 / kLanes], whole[32 / kLanes];
      F32 largest = zero(), difference = zero();  // x - x is 0, or NaN where x is no finite number, which max may lose
      for (int i = 0; i < 32 / kLanes; ++i) {
        v[i] = load(x + y * x_stride + i * kLanes);
        largest = max(largest, abs(v[i]));
        difference = add(difference, sub(v[i], v[i]));
      }
      const float amax = max_of(largest) + sum(difference);
      const float scale = amax / 127.0f;
      const F32 inverse = set1(amax > 1e-36f ? 127.0f / amax : 0.0f);  // below, 127 / amax overflows: counts as 0
      for (int i = 0; i < 32 / kLanes; ++i) {
        v[i] = mul(v[i], inverse);
        whole[i] = max(round(v[i]), set1(-127.0f));  // max also turns NaN into a number
      }
      store_quantized(whole, scale, y * kTerms, rows * kTerms, group);
      if constexpr (kTerms == 2) {
        for (int i = 0; i < 32 / kLanes; ++i) {
          // What is left is at most half a step; a little more where v rounded up to 127.
          whole[i] = max(min(round(mul(sub(v[i], whole[i]), set1(254.0f))), set1(127.0f)), set1(-127.0f));
        }
        store_quantized(whole, scale / 254.0f, y * kTerms + 1, rows * kTerms, group);
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
