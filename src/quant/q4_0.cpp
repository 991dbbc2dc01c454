#include "quant/q4_0.h"

#include "base/half.h"
#include "quant/block_io.h"

namespace ingle {

void decode_q4_0(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ4_0>(src, dst, n, [](const BlockQ4_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>(lo(b.qs[j]) - 8);
      y[j + 16] = d * static_cast<float>(hi(b.qs[j]) - 8);
    }
  });
}

}  // namespace ingle
