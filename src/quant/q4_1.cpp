#include "quant/q4_1.h"

#include "base/half.h"
#include "quant/block_io.h"

namespace ingle {

void decode_q4_1(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ4_1>(src, dst, n, [](const BlockQ4_1& b, float* y) {
    const float d = f16_to_f32(b.d);
    const float m = f16_to_f32(b.m);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>(lo(b.qs[j])) + m;
      y[j + 16] = d * static_cast<float>(hi(b.qs[j])) + m;
    }
  });
}

}  // namespace ingle
