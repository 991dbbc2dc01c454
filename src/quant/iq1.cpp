#include "quant/iq1.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"

namespace ingle {

namespace {

// Eight elements in eighths: 8 * level + 1 or - 1.
void write_point(int index, bool down, int8_t* q) noexcept {
  for (int j = 0; j < 8; ++j) q[j] = static_cast<int8_t>(8 * kCodebookIQ1.points[index][j] + (down ? -1 : 1));
}

void read_iq1_s(const BlockIQ1_S& b, int group, Codes& c) noexcept {
  const int h = b.qh[group];
  c.scale[0] = c.scale[1] = f16_to_f32(b.d) * static_cast<float>(2 * ((h >> 12) & 7) + 1) * 0.125f;
  for (int l = 0; l < 4; ++l) {
    write_point(b.qs[4 * group + l] | ((h >> (3 * l)) & 7) << 8, (h & 0x8000) != 0, c.q + 8 * l);
  }
}

void read_iq1_m(const BlockIQ1_M& b, int group, Codes& c) noexcept {
  uint16_t words[4];
  std::memcpy(words, b.scales, sizeof(words));
  int d_bits = 0;
  for (int i = 0; i < 4; ++i) d_bits |= (words[i] >> 12) << (4 * i);
  const float d = f16_to_f32(static_cast<uint16_t>(d_bits));
  for (int half = 0; half < 2; ++half) {
    const int k = 2 * group + half;  // sub-block of 16
    c.scale[half] = d * static_cast<float>(2 * ((words[k / 4] >> (3 * (k % 4))) & 7) + 1) * 0.125f;
    for (int i = 0; i < 2; ++i) {
      const int h = i == 0 ? lo(b.qh[k]) : hi(b.qh[k]);
      write_point(b.qs[2 * k + i] | (h & 7) << 8, (h & 8) != 0, c.q + 16 * half + 8 * i);
    }
  }
}

}  // namespace

Format iq1_s_format() { return coded_format<BlockIQ1_S, read_iq1_s>(DType::kIQ1_S, "IQ1_S"); }
Format iq1_m_format() { return coded_format<BlockIQ1_M, read_iq1_m>(DType::kIQ1_M, "IQ1_M"); }

}  // namespace ingle
