#include "quant/q1_0.h"

#include "base/half.h"
#include "quant/block_io.h"

namespace ingle {

void decode_q1_0(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ1_0>(src, dst, n, [](const BlockQ1_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 128; ++j) y[j] = ((b.qs[j / 8] >> (j % 8)) & 1) != 0 ? d : -d;
  });
}

void decode_q2_0(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ2_0>(src, dst, n, [](const BlockQ2_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 64; ++j) y[j] = d * static_cast<float>(((b.qs[j / 4] >> (2 * (j % 4))) & 3) - 1);
  });
}

Format q1_0_format() { return block_format<BlockQ1_0>(DType::kQ1_0, "Q1_0", decode_q1_0); }
Format q2_0_format() { return block_format<BlockQ2_0>(DType::kQ2_0, "Q2_0", decode_q2_0); }

}  // namespace ingle
