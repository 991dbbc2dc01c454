#include "quant/iq1.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"

namespace ingle {

namespace {

constexpr float kDelta = 0.125f;

void write_point(int index, float delta, float dl, float* y) noexcept {
  for (int j = 0; j < 8; ++j) y[j] = dl * (static_cast<float>(kCodebookIQ1.points[index][j]) + delta);
}

}  // namespace

void decode_iq1_s(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ1_S>(src, dst, n, [](const BlockIQ1_S& b, float* y) {
    for (int i = 0; i < 32; ++i) {
      const int h = b.qh[i / 4];
      const float dl = f16_to_f32(b.d) * static_cast<float>(2 * ((h >> 12) & 7) + 1);
      const int index = b.qs[i] | ((h >> (3 * (i % 4))) & 7) << 8;
      write_point(index, (h & 0x8000) != 0 ? -kDelta : kDelta, dl, y + 8 * i);
    }
  });
}

void decode_iq1_m(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ1_M>(src, dst, n, [](const BlockIQ1_M& b, float* y) {
    uint16_t words[4];
    std::memcpy(words, b.scales, sizeof(words));
    int d_bits = 0;
    for (int i = 0; i < 4; ++i) d_bits |= (words[i] >> 12) << (4 * i);
    const float d = f16_to_f32(static_cast<uint16_t>(d_bits));
    for (int i = 0; i < 32; ++i) {
      const int k = i / 2;  // sub-block of 16
      const float dl = d * static_cast<float>(2 * ((words[k / 4] >> (3 * (k % 4))) & 7) + 1);
      const int h = i % 2 == 0 ? lo(b.qh[k]) : hi(b.qh[k]);
      write_point(b.qs[i] | (h & 7) << 8, (h & 8) != 0 ? -kDelta : kDelta, dl, y + 8 * i);
    }
  });
}

Format iq1_s_format() { return block_format<BlockIQ1_S>(DType::kIQ1_S, "IQ1_S", decode_iq1_s); }
Format iq1_m_format() { return block_format<BlockIQ1_M>(DType::kIQ1_M, "IQ1_M", decode_iq1_m); }

}  // namespace ingle
