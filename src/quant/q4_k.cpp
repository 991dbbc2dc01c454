#include "quant/q4_k.h"

#include <cstring>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/k_offset.h"
#include "quant/k_scales.h"

namespace ingle {

void decode_q4_k(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ4_K>(src, dst, n, [](const BlockQ4_K& b, float* y) {
    for (int k = 0; k < 8; ++k) {
      const ScaleMin s = unpack_scale_min(b.scales, k);
      const float d = f16_to_f32(b.d) * static_cast<float>(s.scale);
      const float m = f16_to_f32(b.dmin) * static_cast<float>(s.min);
      for (int l = 0; l < 32; ++l) {
        const uint8_t pair = b.qs[32 * (k / 2) + l];
        y[32 * k + l] = d * static_cast<float>(k % 2 == 0 ? lo(pair) : hi(pair)) - m;
      }
    }
  });
}

void encode_q4_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ4_K>(src, dst, n, importance, [](const float* x, const float* iw, BlockQ4_K& b) {
    const OffsetBlock found = encode_offset_block(15, {-1.0f, 0.1f, 20, false}, x, iw);
    b.d = found.d;
    b.dmin = found.dmin;
    std::memcpy(b.scales, found.scales, sizeof(b.scales));
    for (int i = 0; i < 256; ++i)
      b.qs[32 * (i / 64) + i % 32] |= static_cast<uint8_t>(found.codes[i] << (i / 32 % 2 * 4));
  });
}

Format q4_k_format() { return block_format<BlockQ4_K>(DType::kQ4_K, "Q4_K", decode_q4_k, encode_q4_k); }

}  // namespace ingle
