#include "quant/q4_1.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

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

void encode_q4_1(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  const float variance = importance != nullptr ? sum_of_squares(n, src) / static_cast<float>(n) : 0;
  encode_blocks<BlockQ4_1>(src, dst, n, importance, [=](const float* x, const float* iw, BlockQ4_1& b) {
    uint8_t q[32];
    if (iw != nullptr) {
      float w[32];
      weigh(32, iw, variance, x, w);
      const ScaleOffset found = search_with_offset(32, 15, x, w, {-0.9f, 0.05f, 36, false}, q);
      b.d = f32_to_f16(found.scale);
      b.m = f32_to_f16(-found.offset);
    } else {
      const auto [min, max] = range_of(32, x);
      const float d = (max - min) / 15;
      const float inverse = d != 0 ? 1 / d : 0;
      b.d = f32_to_f16(d);
      b.m = f32_to_f16(min);
      for (int j = 0; j < 32; ++j) q[j] = static_cast<uint8_t>(truncated((x[j] - min) * inverse + 0.5f, 0, 15));
    }
    for (int j = 0; j < 16; ++j) b.qs[j] = static_cast<uint8_t>(q[j] | q[j + 16] << 4);
  });
}

Format q4_1_format() { return block_format<BlockQ4_1>(DType::kQ4_1, "Q4_1", decode_q4_1, encode_q4_1); }

}  // namespace ingle
