#include "quant/q8_0.h"

#include <cmath>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/search.h"

namespace ingle {

namespace {

template <class Block>
void unpack(const Block& b, float* y) noexcept {
  const float d = f16_to_f32(b.d);
  for (int j = 0; j < 32; ++j) y[j] = d * static_cast<float>(b.qs[j]);
}

}  // namespace

void decode_q8_0(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ8_0>(src, dst, n, unpack<BlockQ8_0>);
}

void decode_q8_1(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockQ8_1>(src, dst, n, unpack<BlockQ8_1>);
}

// Eight bits leave nothing worth weighing: importance plays no part.
void encode_q8_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockQ8_0>(src, dst, n, importance, [](const float* x, const float*, BlockQ8_0& b) {
    const float d = std::fabs(signed_largest(32, x)) / 127;
    const float inverse = d != 0 ? 1 / d : 0;  // of d before it is rounded to f16
    b.d = f32_to_f16(d);
    for (int j = 0; j < 32; ++j) b.qs[j] = static_cast<int8_t>(rounded(x[j] * inverse, -127, 127));
  });
}

Format q8_0_format() { return block_format<BlockQ8_0>(DType::kQ8_0, "Q8_0", decode_q8_0, encode_q8_0); }
Format q8_1_format() { return block_format<BlockQ8_1>(DType::kQ8_1, "Q8_1", decode_q8_1); }

}  // namespace ingle
