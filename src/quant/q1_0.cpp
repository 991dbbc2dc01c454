#include "quant/q1_0.h"

#include "base/half.h"
#include "quant/block_io.h"

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

}  // namespace

Format q1_0_format() { return coded_format<BlockQ1_0, read_q1_0>(DType::kQ1_0, "Q1_0"); }
Format q2_0_format() { return coded_format<BlockQ2_0, read_q2_0>(DType::kQ2_0, "Q2_0"); }

}  // namespace ingle
