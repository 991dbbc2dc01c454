#include "quant/q5_0.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

void decode_q5_0(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ5_0>(src, dst, n, [](const BlockQ5_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 32; ++j) {
      const int low = j < 16 ? lo(b.qs[j]) : hi(b.qs[j - 16]);
      const int high = (b.qh[j / 8] >> (j % 8)) & 1;
      y[j] = d * static_cast<float>((low | high << 4) - 16);
    }
  });
}

void encode_q5_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  const float variance = importance != nullptr ? sum_of_squares(n, src) / static_cast<float>(n) : 0;
  encode_blocks<BlockQ5_0>(src, dst, n, importance, [=](const float* x, const float* iw, BlockQ5_0& b) {
    uint8_t q[32];
    if (iw != nullptr) {
      float w[32];
      weigh(32, iw, variance, x, w);
      b.d = f32_to_f16(search_symmetric(32, 16, x, w, q));
    } else {
      const float d = signed_largest(32, x) / -16;  // the largest lands on -16, the end with one level more
      const float inverse = d != 0 ? 1 / d : 0;
      b.d = f32_to_f16(d);
      for (int j = 0; j < 32; ++j) q[j] = static_cast<uint8_t>(truncated(x[j] * inverse + 16.5f, 0, 31));
    }
    for (int j = 0; j < 16; ++j) b.qs[j] = static_cast<uint8_t>((q[j] & 15) | (q[j + 16] & 15) << 4);
    for (int j = 0; j < 32; ++j) b.qh[j / 8] |= static_cast<uint8_t>((q[j] >> 4) << (j % 8));
  });
}

Format q5_0_format() { return block_format<BlockQ5_0>(DType::kQ5_0, "Q5_0", decode_q5_0, encode_q5_0); }

}  // namespace ingle
