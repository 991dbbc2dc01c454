#include "quant/q8_k.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

void decode_q8_k(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ8_K>(src, dst, n, [](const BlockQ8_K& b, float* y) {
    for (int j = 0; j < 256; ++j) y[j] = b.d * static_cast<float>(b.qs[j]);
  });
}

void encode_q8_k(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ8_K>(src, dst, n, importance, [](const float* x, const float*, BlockQ8_K& b) {
    const float largest = signed_largest(256, x);
    if (largest == 0) return;
    const float inverse = -127 / largest;
    b.d = 1 / inverse;
    for (int j = 0; j < 256; ++j) {
      b.qs[j] = static_cast<int8_t>(nearest(inverse * x[j], -128, 127));
      b.bsums[j / 16] = static_cast<int16_t>(b.bsums[j / 16] + b.qs[j]);
    }
  });
}

Format q8_k_format() { return block_format<BlockQ8_K>(DType::kQ8_K, "Q8_K", decode_q8_k, encode_q8_k); }

}  // namespace ingle
