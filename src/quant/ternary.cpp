#include "quant/ternary.h"

#include <algorithm>
#include <numeric>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/weighed_block.h"

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

// Digits 0, 1, 2 for the numbers of a block; returns d. The k largest become +-d and the others 0: with the sums over
// these k, d = sum |x| / k fits best, and leaves least where (sum |x|)^2 / k is largest. What was trained to be -d, 0
// or d comes back as it was. Importance plays no part.
uint16_t choose_digits(const float* x, uint8_t* digits) noexcept {
  std::fill_n(digits, 256, uint8_t{1});
  const WeighedBlock block(x, nullptr, 256);
  if (!block.searchable()) return block.plain_scale();
  uint16_t order[256];
  std::iota(order, order + 256, uint16_t{0});
  const auto magnitude = [&](int i) { return std::fabs(block.x[i]); };
  std::sort(order, order + 256,
            [&](int a, int b) { return magnitude(a) != magnitude(b) ? magnitude(a) > magnitude(b) : a < b; });
  float sum = 0, most = 0, d = 0;
  int count = 0;
  for (int k = 1; k <= 256; ++k) {
    sum += magnitude(order[k - 1]);
    const float mean = sum / static_cast<float>(k);
    if (!(sum * mean > most)) continue;
    most = sum * mean;
    d = mean;
    count = k;
  }
  for (int k = 0; k < count; ++k) digits[order[k]] = block.x[order[k]] < 0 ? 0 : 2;
  return f32_to_f16(d * block.magnitude);
}

// The byte whose fraction begins with these digits: v / 256 >= digits / 3^5.
uint8_t pack_digits(const uint8_t* digits, int stride, int count) noexcept {
  int number = 0;
  for (int n = 0; n < 5; ++n) number = 3 * number + (n < count ? digits[stride * n] : 0);
  return static_cast<uint8_t>((number * 256 + 242) / 243);
}

void pack_tq1_0(const float* x, const float*, BlockTQ1_0& b) noexcept {
  uint8_t digits[256];
  b.d = choose_digits(x, digits);
  for (int m = 0; m < 32; ++m) b.qs[m] = pack_digits(digits + m, 32, 5);
  for (int m = 0; m < 16; ++m) b.qs[32 + m] = pack_digits(digits + 160 + m, 16, 5);
  for (int j = 0; j < 4; ++j) b.qh[j] = pack_digits(digits + 240 + j, 4, 4);
}

void pack_tq2_0(const float* x, const float*, BlockTQ2_0& b) noexcept {
  uint8_t digits[256];
  b.d = choose_digits(x, digits);
  for (int i = 0; i < 256; ++i)
    b.qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>(digits[i] << (2 * (i % 128 / 32)));
}

}  // namespace

void encode_tq1_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockTQ1_0>(src, dst, n, importance, pack_tq1_0);
}
void encode_tq2_0(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockTQ2_0>(src, dst, n, importance, pack_tq2_0);
}

Format tq1_0_format() { return coded_format<BlockTQ1_0, read_tq1_0>(DType::kTQ1_0, "TQ1_0", encode_tq1_0); }
Format tq2_0_format() { return coded_format<BlockTQ2_0, read_tq2_0>(DType::kTQ2_0, "TQ2_0", encode_tq2_0); }

}  // namespace ingle
