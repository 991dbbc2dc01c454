#include "quant/ternary.h"

#include "base/half.h"
#include "quant/block_io.h"

namespace ingle {

namespace {

constexpr uint8_t kPowersOf3[5] = {1, 3, 9, 27, 81};

int digit(uint8_t v, int n) noexcept { return (static_cast<uint8_t>(v * kPowersOf3[n]) * 3) >> 8; }

int8_t value(uint8_t v, int n) noexcept { return static_cast<int8_t>(digit(v, n) - 1); }

void read_tq1_0(const BlockTQ1_0& b, int group, Codes& c) noexcept {
  c.scale[0] = c.scale[1] = f16_to_f32(b.d);
  if (group < 5) {
    for (int m = 0; m < 32; ++m) c.q[m] = value(b.qs[m], group);
    return;
  }
  for (int half = 0; half < 2; ++half) {
    const int n = 2 * (group - 5) + half;  // the sixth is the four digits of qh
    for (int m = 0; m < 16; ++m) c.q[16 * half + m] = n < 5 ? value(b.qs[32 + m], n) : value(b.qh[m % 4], m / 4);
  }
}

void read_tq2_0(const BlockTQ2_0& b, int group, Codes& c) noexcept {
  c.scale[0] = c.scale[1] = f16_to_f32(b.d);
  for (int l = 0; l < 32; ++l) {
    c.q[l] = static_cast<int8_t>(((b.qs[32 * (group / 4) + l] >> (2 * (group % 4))) & 3) - 1);
  }
}

}  // namespace

Format tq1_0_format() { return coded_format<BlockTQ1_0, read_tq1_0>(DType::kTQ1_0, "TQ1_0"); }
Format tq2_0_format() { return coded_format<BlockTQ2_0, read_tq2_0>(DType::kTQ2_0, "TQ2_0"); }

}  // namespace ingle
