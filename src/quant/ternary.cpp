#include "quant/ternary.h"

#include "base/half.h"
#include "quant/block_io.h"

namespace ingle {

namespace {

constexpr uint8_t kPowersOf3[5] = {1, 3, 9, 27, 81};

int digit(uint8_t v, int n) noexcept { return (static_cast<uint8_t>(v * kPowersOf3[n]) * 3) >> 8; }

}  // namespace

void decode_tq1_0(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockTQ1_0>(src, dst, n, [](const BlockTQ1_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    const auto value = [d](uint8_t v, int k) { return d * static_cast<float>(digit(v, k) - 1); };
    for (int k = 0; k < 5; ++k) {
      for (int m = 0; m < 32; ++m) y[32 * k + m] = value(b.qs[m], k);
      for (int m = 0; m < 16; ++m) y[160 + 16 * k + m] = value(b.qs[32 + m], k);
    }
    for (int k = 0; k < 4; ++k)
      for (int j = 0; j < 4; ++j) y[240 + 4 * k + j] = value(b.qh[j], k);
  });
}

void decode_tq2_0(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockTQ2_0>(src, dst, n, [](const BlockTQ2_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 256; ++i) {
      const int q = (b.qs[32 * (i / 128) + i % 32] >> (2 * (i % 128 / 32))) & 3;
      y[i] = d * static_cast<float>(q - 1);
    }
  });
}

Format tq1_0_format() { return block_format<BlockTQ1_0>(DType::kTQ1_0, "TQ1_0", decode_tq1_0); }
Format tq2_0_format() { return block_format<BlockTQ2_0>(DType::kTQ2_0, "TQ2_0", decode_tq2_0); }

}  // namespace ingle
