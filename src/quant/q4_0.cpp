#include "quant/q4_0.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

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

void encode_q4_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  const float variance = importance != nullptr ? sum_of_squares(n, src) / static_cast<float>(n) : 0;
  encode_blocks<BlockQ4_0>(src, dst, n, importance, [=](const float* x, const float* iw, BlockQ4_0& b) {
    uint8_t q[32];
    if (iw != nullptr) {
      float w[32];
      weigh(32, iw, variance, x, w);
      b.d = f32_to_f16(search_symmetric(32, 8, x, w, q));
    } else {
      const float d = signed_largest(32, x) / -8;  // the largest lands on -8, the end with one level more
      const float inverse = d != 0 ? 1 / d : 0;
      b.d = f32_to_f16(d);
      for (int j = 0; j < 32; ++j) q[j] = static_cast<uint8_t>(truncated(x[j] * inverse + 8.5f, 0, 15));
    }
    for (int j = 0; j < 16; ++j) b.qs[j] = static_cast<uint8_t>(q[j] | q[j + 16] << 4);
  });
}

Format q4_0_format() { return block_format<BlockQ4_0>(DType::kQ4_0, "Q4_0", decode_q4_0, encode_q4_0); }

}  // namespace ingle
