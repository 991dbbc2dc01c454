// What one instruction set offers the CPU backend: plain structs and function pointers, filled by the files in isa/.
//
// Int8 product. A weight matrix is packed in panels of `panel_rows` rows, walked along k in blocks of 32. Activations
// are quantised per block of 32 into groups of Y rows ("tokens"); one block of a group of Y tokens is, in one stream,
//     int8   x[8][Y][4]     k = 4g .. 4g+3 of token y at [g][y]; in some instruction sets x[4][Y][8] (panel.inl)
//     float  d[Y]           scale: the value is d * x
//     int32  start[Y]       what an integer sum begins with: the instruction set's kSumBias (panel.inl) - 128 * sum of
//                           the 32 x, which is what the offset of unsigned bytes costs
//     float  s[Y]           d * sum: what a weight's minimum is multiplied by
//     int32  start_low[Y], start_high[Y]     of the first and the last 16 x, for formats with a scale for each 16
// which is 52 * Y bytes. Every path computes sum over blocks, in order, of  acc = fma(round(int sum * w_scale), d, acc)
// and, for formats with a minimum, acc = fma(w_min, s, acc), for each 32 or each 16 as the format has scales: the
// result of a row does not depend on how many rows go along.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/dtype.h"

namespace ingle::cpu {

constexpr int kMaxGemvTokens = 4;  // up to here a product streams the packed weights; above, a panel is expanded first
constexpr int kMaxGemvPanels = 4;  // that a caller gives to a gemv at once
constexpr int kMaxTileTokens = 6;
constexpr int64_t kActivationBytes = 52;  // per token and block of 32

// Kernels of one packed block format.
struct IntFormat {
  DType type;
  const char* name;           // of the layout, for --explain
  int bits;                   // of a weight, as products take it: 4, 5, 6 or 8
  int unit_blocks;            // blocks of 32 that are packed together: 1, or the 8 of a 256-block
  size_t unit_bytes_per_row;  // packed bytes per row and unit
  // Packs `blocks` blocks, whole units, of panel_rows rows (nullptr: a row of zeros); each pointer stands at that row's
  // first block.
  void (*pack)(const uint8_t* const* rows, int64_t blocks, uint8_t* panel) noexcept;
  // acc[y][panel_rows] of each of `count` panels and one group of y tokens, y = index + 1. Panels are read side by side
  // where that is faster (kGemvPanels in simd/): a processor fetches further ahead in several pages than in one.
  void (*gemv[kMaxGemvTokens])(const uint8_t* const* panels, float* const* acc, int count, int64_t blocks,
                               const uint8_t* x) noexcept;
  // One byte per weight and float scales, in the layout the tiles read; panel_rows * expanded_bytes_per_row a block.
  void (*expand)(const uint8_t* panel, int64_t blocks, uint8_t* expanded) noexcept;
  size_t expanded_bytes_per_row;
  // As gemv, on an expanded panel; with `resume` acc goes on from what it holds.
  void (*tile[kMaxTileTokens])(const uint8_t* expanded, int64_t blocks, const uint8_t* x, float* acc,
                               bool resume) noexcept;

  size_t packed_bytes_per_row(int64_t blocks) const noexcept {
    return unit_bytes_per_row * static_cast<size_t>(blocks / unit_blocks);
  }
};

// Kernels of float weights, packed [k][panel_rows] in the file's own precision (or decoded on the way in).
struct FloatFormat {
  DType type;
  const char* name;
  void (*expand)(const uint8_t* panel, int64_t k, float* expanded) noexcept;  // [k][panel_rows]
  void (*gemv)(const uint8_t* panel, int64_t k, const float* x, float* acc) noexcept;
};

constexpr int kAppendRows = 16;

// A type the cache can be kept in; layouts are in kernels/kv_cache.inl. Rows of one head, position 0..63 in its block.
struct KvFormat {
  DType type;
  size_t (*k_bytes)(int64_t dim);
  size_t (*v_bytes)(int64_t dim);
  // Up to kAppendRows rows, stride apart, for positions from `position` on, which lie between two multiples of
  // kAppendRows.
  void (*append_k)(const float* k, int64_t stride, int rows, int64_t dim, int position, uint8_t* block) noexcept;
  void (*append_v)(const float* v, int64_t stride, int rows, int64_t dim, int position, uint8_t* block) noexcept;
  // The first `positions` of a block as a float tile (AttentionTile's k and v): in `tile`, or the block itself.
  const float* (*expand_k)(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept;
  const float* (*expand_v)(const uint8_t* block, int64_t dim, int positions, float* tile) noexcept;
  bool pairs;  // attention_pairs reads its blocks
};

constexpr int64_t kSumLanes = 16;  // room for the lanes of a row's sum of weights, whatever the vectors

// One query block against the 64 keys of a cache block. Running maxima count in powers of two.
struct AttentionTile {
  const uint8_t* q;      // [rows][query_bytes]
  const float* q_scale;  // [rows]
  const int32_t* limit;  // per row: keys at positions < limit are visible (counted from the tile's first key)
  const int32_t* start;  // per row: keys at positions >= start are visible; both nullptr: all of them are, to all rows
  int rows;
  const uint8_t* k;         // float [4][k_dim][16], or the block itself
  const uint8_t* v;         // float [64][v_stride], or the block itself
  int64_t k_dim, v_stride;  // v_stride: v_dim rounded up to 16
  float soft_cap;           // 0: none
  const float* slope;       // per row: what a score gains per position, or nullptr
  const float* distance;    // per row, with slope: the tile's first key position minus the row's own
  float* m;     // [rows] running maximum, -inf at first; a vector is read from each, so there is room behind
  float* sums;  // [rows][kSumLanes + v_stride] sum of the weights by lanes, weighted sum of V; 0 at first
};

// Attention in one kind of numbers.
struct AttentionKernel {
  int64_t (*query_bytes)(int64_t k_dim);
  // A row times `factor`: attention scale, and log2 e unless scores are capped or have slopes.
  void (*query)(const float* q, int64_t k_dim, float factor, uint8_t* out, float* scale) noexcept;
  void (*tile)(const AttentionTile& tile) noexcept;
};

// A loop of nothing but multiply-adds in registers (kernels/ceilings.inl): what products of one kind reach at most.
struct PeakLoop {
  int bits;                                  // of the weights of an int8 product: 4, 5, 6, 8; 32: f32
  int64_t (*run)(int64_t repeats) noexcept;  // returns how many multiply-adds it did
};

struct CpuKernels {
  const char* name;
  int lanes;        // floats in a vector
  int panel_rows;   // rows of a weight panel: a multiple of lanes
  int tile_tokens;  // tokens of a full activation group
  const IntFormat* int_formats;
  int int_format_count;
  const FloatFormat* float_formats;
  int float_format_count;
  const KvFormat* kv_formats;
  int kv_format_count;
  DType cache_type;  // the fastest of 16 bits

  // `rows` rows of 32 * blocks numbers, x_stride apart, into one group; with two terms each gives two rows of the
  // group: d * hi, and what rounding left, d / 254 * lo.
  void (*quantize)(const float* x, int64_t x_stride, int rows, int terms, int64_t blocks, uint8_t* group) noexcept;
  // acc[y][panel_rows] (+)= sum over k of w[k][row] * x[y][k]; x rows x_stride apart. y = index + 1.
  void (*float_tile[kMaxTileTokens])(const float* w, int64_t k, const float* x, int64_t x_stride, float* acc,
                                     bool resume) noexcept;
  // Per row: dst = acc + bias (bias may be nullptr), or dst += the same.
  void (*store)(const float* acc, int64_t acc_stride, const float* bias, int64_t rows, int64_t n, float* dst,
                int64_t dst_stride, bool add) noexcept;
  // Per row: dst = act(gate) * up; dst may be gate.
  void (*silu_mul)(const float* gate, const float* up, int64_t stride, int64_t rows, int64_t n, float* dst,
                   int64_t dst_stride) noexcept;
  void (*gelu_mul)(const float* gate, const float* up, int64_t stride, int64_t rows, int64_t n, float* dst,
                   int64_t dst_stride) noexcept;
  void (*clamped_silu_mul)(const float* gate, const float* up, int64_t stride, int64_t rows, int64_t n, float* dst,
                           int64_t dst_stride) noexcept;
  // dst (+)= x / sqrt(mean(x^2) + eps) * gain; gain may be nullptr.
  void (*rms_norm)(const float* x, const float* gain, int64_t n, float eps, float* dst, bool add) noexcept;
  // dst (+)= y / sqrt(mean(y^2) + eps) * gain + bias, y = x - mean(x); gain and bias may be nullptr.
  void (*layer_norm)(const float* x, const float* gain, const float* bias, int64_t n, float eps, float* dst,
                     bool add) noexcept;
  // Rotates pairs of one head; cos and sin have pairs entries.
  void (*rope_adjacent)(float* x, const float* cos, const float* sin, int64_t pairs) noexcept;
  void (*rope_halves)(float* x, const float* cos, const float* sin, int64_t pairs) noexcept;
  void (*scale)(float* x, int64_t n, float factor) noexcept;
  void (*multiply)(float* x, const float* by, int64_t n) noexcept;
  void (*soft_cap)(float* x, int64_t n, float cap) noexcept;  // cap * tanh(x / cap)
  void (*gelu)(float* x, int64_t n) noexcept;                 // x/2 (1 + erf(x / sqrt 2))
  AttentionKernel attention_float, attention_pairs;  // on float tiles; on blocks of 16-bit integers as they are
  // Adds to rows what tiles of later keys have given (AttentionTile's m and sums).
  void (*attention_merge)(float* m, float* sums, const float* later_m, const float* later_sums, int rows,
                          int64_t v_stride) noexcept;
  // A row's result [v_dim]. `sink`, or nullptr: one more score, without a value.
  void (*attention_finish)(float m, const float* sums, const float* sink, int64_t v_dim, float* out) noexcept;
  // a = a * a_factor + b * b_factor
  void (*blend)(float* a, float a_factor, const float* b, float b_factor, int64_t n) noexcept;

  const PeakLoop* peaks;  // several of one kind: the fastest counts
  int peak_count;
  void (*read_all)(const uint8_t* p, size_t bytes) noexcept;  // loads all of it, in order; bytes % 64 == 0
};

}  // namespace ingle::cpu
