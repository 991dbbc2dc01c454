#include "quant/iq4.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

namespace {

// Index of the level closest to x, the upper of two equally close. NaN becomes the lowest.
int nearest_level(float x) noexcept {
  if (!(x > kIQ4Levels[0])) return 0;
  if (x >= kIQ4Levels[15]) return 15;
  int above = 1;
  while (x >= kIQ4Levels[above]) ++above;
  return x - kIQ4Levels[above - 1] < kIQ4Levels[above] - x ? above - 1 : above;
}

// Scale of 32 elements: around the one that maps the largest |x| to the lowest level, seven levels to either side, keep
// the scale with the greatest (sum w x l)^2 / (sum w l^2).
float find_scale(const float* x, const float* w) noexcept {
  const float largest = signed_largest(32, x);
  if (std::fabs(largest) < kNoMagnitude) return 0;
  const auto fit = [&](float inverse, float& cross, float& square) {
    cross = square = 0;
    for (int j = 0; j < 32; ++j) {
      const float l = kIQ4Levels[nearest_level(inverse * x[j])];
      cross += w[j] * l * x[j];
      square += w[j] * l * l;
    }
  };
  float cross, square;
  const float plain = -largest / kIQ4Levels[0];
  fit(1 / plain, cross, square);
  float scale = square == 0 ? plain : cross / square;
  float best = scale * cross;
  for (int step = -7; step <= 7; ++step) {
    fit(static_cast<float>(step + kIQ4Levels[0]) / largest, cross, square);
    if (square > 0 && cross * cross > best * square) {
      scale = cross / square;
      best = scale * cross;
    }
  }
  return scale;
}

// Squares stand in for weights where there is no importance.
float find_scale(const float* x, const float* importance, float variance) noexcept {
  float w[32];
  if (importance != nullptr) {
    weigh(32, importance, variance, x, w);
  } else {
    for (int j = 0; j < 32; ++j) w[j] = x[j] * x[j];
  }
  return find_scale(x, w);
}

void pack_codes(const float* x, float scale, uint8_t* qs) noexcept {
  const float inverse = scale != 0 ? 1 / scale : 0;
  for (int j = 0; j < 16; ++j)
    qs[j] = static_cast<uint8_t>(nearest_level(inverse * x[j]) | nearest_level(inverse * x[j + 16]) << 4);
}

void unpack_codes(const uint8_t* qs, float scale, float* y) noexcept {
  for (int j = 0; j < 16; ++j) {
    y[j] = scale * static_cast<float>(kIQ4Levels[lo(qs[j])]);
    y[j + 16] = scale * static_cast<float>(kIQ4Levels[hi(qs[j])]);
  }
}

void encode_xs_block(const float* x, const float* importance, BlockIQ4_XS& b) noexcept {
  const float variance = sum_of_squares(256, x) * 2 / 256;
  float scales[8];
  for (int g = 0; g < 8; ++g)
    scales[g] = find_scale(x + 32 * g, importance != nullptr ? importance + 32 * g : nullptr, variance);
  const float d = -signed_largest(8, scales) / 32;
  const float inverse = d != 0 ? 1 / d : 0;
  b.d = f32_to_f16(d);
  for (int g = 0; g < 8; ++g) {
    const int scale = nearest(inverse * scales[g], -32, 31);
    pack_codes(x + 32 * g, d * static_cast<float>(scale), b.qs + 16 * g);
    b.scales_l[g / 2] |= static_cast<uint8_t>(((scale + 32) & 15) << (4 * (g % 2)));
    b.scales_h |= static_cast<uint16_t>(((scale + 32) >> 4) << (2 * g));
  }
}

}  // namespace

void decode_iq4_nl(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ4_NL>(src, dst, n,
                             [](const BlockIQ4_NL& b, float* y) { unpack_codes(b.qs, f16_to_f32(b.d), y); });
}

void decode_iq4_xs(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ4_XS>(src, dst, n, [](const BlockIQ4_XS& b, float* y) {
    for (int g = 0; g < 8; ++g) {
      const int low = g % 2 == 0 ? lo(b.scales_l[g / 2]) : hi(b.scales_l[g / 2]);
      const int scale = (low | ((b.scales_h >> (2 * g)) & 3) << 4) - 32;
      unpack_codes(b.qs + 16 * g, f16_to_f32(b.d) * static_cast<float>(scale), y + 32 * g);
    }
  });
}

void encode_iq4_nl(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ4_NL>(src, dst, n, importance, [](const float* x, const float* iw, BlockIQ4_NL& b) {
    const float scale = find_scale(x, iw, sum_of_squares(32, x) * 2 / 32);
    b.d = f32_to_f16(scale);
    pack_codes(x, scale, b.qs);
  });
}

void encode_iq4_xs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ4_XS>(src, dst, n, importance, encode_xs_block);
}

Format iq4_nl_format() { return block_format<BlockIQ4_NL>(DType::kIQ4_NL, "IQ4_NL", decode_iq4_nl, encode_iq4_nl); }
Format iq4_xs_format() { return block_format<BlockIQ4_XS>(DType::kIQ4_XS, "IQ4_XS", decode_iq4_xs, encode_iq4_xs); }

}  // namespace ingle
