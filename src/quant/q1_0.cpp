#include "quant/q1_0.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

namespace {

void read_q1_0(const BlockQ1_0& b, int group, Codes& c) noexcept {
  c.scale[0] = c.scale[1] = f16_to_f32(b.d);
  for (int j = 0; j < 32; ++j) c.q[j] = ((b.qs[4 * group + j / 8] >> (j % 8)) & 1) != 0 ? 1 : -1;
}

void read_q2_0(const BlockQ2_0& b, int group, Codes& c) noexcept {
  c.scale[0] = c.scale[1] = f16_to_f32(b.d);
  for (int j = 0; j < 32; ++j) {
    c.q[j] = static_cast<int8_t>(((b.qs[8 * group + j / 4] >> (2 * (j % 4))) & 3) - 1);
  }
}

// The mean magnitude is what fits best. Importance plays no part.
void pack_q1_0(const float* x, const float*, BlockQ1_0& b) noexcept {
  float sum = 0;
  for (int i = 0; i < 128; ++i) sum += std::fabs(x[i]);
  b.d = f32_to_f16(sum / 128);
  for (int i = 0; i < 128; ++i)
    if (x[i] >= 0) b.qs[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
}

// x ~ scale * level of -2 .. 1 is x ~ -scale * level of -1 .. 2. Importance plays no part.
void pack_q2_0(const float* x, const float*, BlockQ2_0& b) noexcept {
  float w[64];
  uint8_t levels[64];  // from -2 on
  std::fill_n(w, 64, 1.0f);
  b.d = f32_to_f16(-search_symmetric(64, 2, x, w, levels));
  for (int i = 0; i < 64; ++i) b.qs[i / 4] |= static_cast<uint8_t>((3 - levels[i]) << (2 * (i % 4)));
}

}  // namespace

void encode_q1_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ1_0>(src, dst, n, importance, pack_q1_0);
}
void encode_q2_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ2_0>(src, dst, n, importance, pack_q2_0);
}

Format q1_0_format() { return coded_format<BlockQ1_0, read_q1_0>(DType::kQ1_0, "Q1_0", encode_q1_0); }
Format q2_0_format() { return coded_format<BlockQ2_0, read_q2_0>(DType::kQ2_0, "Q2_0", encode_q2_0); }

}  // namespace ingle
