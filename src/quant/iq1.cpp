#include "quant/iq1.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"
#include "quant/nearest_points.h"
#include "quant/odd_scales.h"
#include "quant/weighed_block.h"

namespace ingle {

namespace {

// Eight elements in eighths: 8 * level + 1 or - 1.
void write_point(int index, bool down, int8_t* q) noexcept {
  for (int j = 0; j < 8; ++j) q[j] = static_cast<int8_t>(8 * kCodebookIQ1.points[index][j] + (down ? -1 : 1));
}

void read_iq1_s(const BlockIQ1_S& b, int group, Codes& c) noexcept {
  const int h = b.qh[group];
  c.scale[0] = c.scale[1] = f16_to_f32(b.d) * static_cast<float>(2 * ((h >> 12) & 7) + 1) * 0.125f;
  for (int l = 0; l < 4; ++l) {
    write_point(b.qs[4 * group + l] | ((h >> (3 * l)) & 7) << 8, (h & 0x8000) != 0, c.q + 8 * l);
  }
}

void read_iq1_m(const BlockIQ1_M& b, int group, Codes& c) noexcept {
  uint16_t words[4];
  std::memcpy(words, b.scales, sizeof(words));
  int d_bits = 0;
  for (int i = 0; i < 4; ++i) d_bits |= (words[i] >> 12) << (4 * i);
  const float d = f16_to_f32(static_cast<uint16_t>(d_bits));
  for (int half = 0; half < 2; ++half) {
    const int k = 2 * group + half;  // sub-block of 16
    c.scale[half] = d * static_cast<float>(2 * ((words[k / 4] >> (3 * (k % 4))) & 7) + 1) * 0.125f;
    for (int i = 0; i < 2; ++i) {
      const int h = i == 0 ? lo(b.qh[k]) : hi(b.qh[k]);
      write_point(b.qs[2 * k + i] | (h & 7) << 8, (h & 8) != 0, c.q + 16 * half + 8 * i);
    }
  }
}

// Points of the one codebook for the numbers of a block, each moved up or down.
class MovedPoints {
 public:
  explicit MovedPoints(const WeighedBlock& block) noexcept : block_(block) {}

  // Chooses points for the eight elements from 8 * v on.
  PointFit snap(int v, bool move_down, float scale) noexcept {
    const float *x = block_.x + 8 * v, *w = block_.w + 8 * v, move = move_down ? -0.125f : 0.125f;
    float moved[8];
    for (int j = 0; j < 8; ++j) moved[j] = x[j] - scale * move;
    const int found = near().find(moved, w, scale);
    index[v] = static_cast<uint16_t>(found);
    down[v] = move_down;
    PointFit fit;
    for (int j = 0; j < 8; ++j) fit.add(w[j], x[j], near().point(found)[j] + move);
    return fit;
  }
  // The same for `count` times eight, all moved the same way, the better one.
  PointFit snap_together(int first, int count, float scale) noexcept {
    const auto all = [&](bool move_down) {
      PointFit fit;
      for (int v = first; v < first + count; ++v) fit += snap(v, move_down, scale);
      return fit;
    };
    const PointFit up = all(false), fit = all(true);
    return fit.error(scale) < up.error(scale) ? fit : all(false);
  }
  // Each by itself.
  PointFit snap_apart(int first, int count, float scale) noexcept {
    PointFit fit;
    for (int v = first; v < first + count; ++v) fit += snap_together(v, 1, scale);
    return fit;
  }
  float largest(int first, int count) const noexcept {
    return std::fabs(signed_largest(8 * count, block_.x + 8 * first));
  }

  uint16_t index[32];
  bool down[32];

 private:
  using Near = NearestPoints<2048, 8, 3>;
  static const Near& near() noexcept {
    static const Near kNear(kCodebookIQ1);
    return kNear;
  }
  const WeighedBlock& block_;
};

// The largest number of a group is one scale, or up to three where the others are small: they set the scale then.
constexpr ScaleRange kRange = {1.125f, 0.8f, 3.2f};

// A code of three bits for each of Groups scales; snap(first, count, scale) chooses points. Returns d.
template <int Groups, class Snap>
uint16_t choose_points(const MovedPoints& points, float magnitude, uint8_t* codes, Snap snap) noexcept {
  constexpr int kEach = 32 / Groups;
  float scales[Groups];
  for (int g = 0; g < Groups; ++g)
    scales[g] = search_group_scale(points.largest(kEach * g, kEach), kRange,
                                   [&](float scale) { return snap(kEach * g, kEach, scale); });
  return fit_odd_scales<Groups, 8>(scales, magnitude, 1, codes,
                                   [&](int g, float scale) { return snap(kEach * g, kEach, scale); });
}

void pack_iq1_s(const float* x, const float* importance, BlockIQ1_S& b) noexcept {
  const WeighedBlock block(x, importance, 32);
  b.d = block.plain_scale();
  if (!block.searchable()) return;
  MovedPoints points(block);
  uint8_t codes[8];
  b.d = choose_points<8>(points, block.magnitude, codes,
                         [&](int first, int count, float scale) { return points.snap_together(first, count, scale); });
  for (int g = 0; g < 8; ++g) {
    b.qh[g] = static_cast<uint16_t>(codes[g] << 12 | (points.down[4 * g] ? 0x8000 : 0));
    for (int l = 0; l < 4; ++l) {
      b.qs[4 * g + l] = static_cast<uint8_t>(points.index[4 * g + l] & 255);
      b.qh[g] |= static_cast<uint16_t>((points.index[4 * g + l] >> 8) << (3 * l));
    }
  }
}

// d in four parts, in the top bits of the words of scales.
void set_d(BlockIQ1_M& b, uint16_t d, const uint8_t* codes) noexcept {
  uint16_t words[4] = {};
  for (int k = 0; k < 16; ++k) words[k / 4] |= static_cast<uint16_t>(codes[k] << (3 * (k % 4)));
  for (int i = 0; i < 4; ++i) words[i] |= static_cast<uint16_t>(((d >> (4 * i)) & 15) << 12);
  std::memcpy(b.scales, words, sizeof(words));
}

void pack_iq1_m(const float* x, const float* importance, BlockIQ1_M& b) noexcept {
  const WeighedBlock block(x, importance, 16);
  uint8_t codes[16] = {};
  if (!block.searchable()) return set_d(b, block.plain_scale(), codes);
  MovedPoints points(block);
  const uint16_t d = choose_points<16>(points, block.magnitude, codes, [&](int first, int count, float scale) {
    return points.snap_apart(first, count, scale);
  });
  set_d(b, d, codes);
  for (int i = 0; i < 32; ++i) {
    b.qs[i] = static_cast<uint8_t>(points.index[i] & 255);
    b.qh[i / 2] |= static_cast<uint8_t>((points.index[i] >> 8 | (points.down[i] ? 8 : 0)) << (4 * (i % 2)));
  }
}

}  // namespace

void encode_iq1_s(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ1_S>(src, dst, n, importance, pack_iq1_s);
}
void encode_iq1_m(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ1_M>(src, dst, n, importance, pack_iq1_m);
}

Format iq1_s_format() { return coded_format<BlockIQ1_S, read_iq1_s>(DType::kIQ1_S, "IQ1_S", encode_iq1_s); }
Format iq1_m_format() { return coded_format<BlockIQ1_M, read_iq1_m>(DType::kIQ1_M, "IQ1_M", encode_iq1_m); }

}  // namespace ingle
