#include "quant/iq3.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"

namespace ingle {

namespace {

// Eight elements of two codebook points.
uint64_t two_points(const int8_t* first, const int8_t* second) noexcept {
  uint32_t low, high;
  std::memcpy(&low, first, sizeof(low));
  std::memcpy(&high, second, sizeof(high));
  return low | static_cast<uint64_t>(high) << 32;
}

void read_iq3_xxs(const BlockIQ3_XXS& b, int group, Codes& c) noexcept {
  uint32_t word;
  std::memcpy(&word, b.scales_signs + 4 * group, sizeof(word));
  c.scale[0] = c.scale[1] = f16_to_f32(b.d) * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
  for (int l = 0; l < 4; ++l) {
    const uint8_t* index = b.qs + 8 * group + 2 * l;
    const uint64_t points = two_points(kCodebookIQ3_XXS.points[index[0]], kCodebookIQ3_XXS.points[index[1]]);
    write_eight(c.q + 8 * l, with_signs(points, kEvenSigns.bytes[(word >> (7 * l)) & 127]));
  }
}

void read_iq3_s(const BlockIQ3_S& b, int group, Codes& c) noexcept {
  const int scale = group % 2 == 0 ? lo(b.scales[group / 2]) : hi(b.scales[group / 2]);
  c.scale[0] = c.scale[1] = f16_to_f32(b.d) * static_cast<float>(1 + 2 * scale);
  const auto point = [&](int k) { return kCodebookIQ3_S.points[b.qs[8 * group + k] | ((b.qh[group] >> k) & 1) << 8]; };
  for (int l = 0; l < 4; ++l) {
    write_eight(c.q + 8 * l, with_signs(two_points(point(2 * l), point(2 * l + 1)), b.signs[4 * group + l]));
  }
}

}  // namespace

Format iq3_xxs_format() { return coded_format<BlockIQ3_XXS, read_iq3_xxs>(DType::kIQ3_XXS, "IQ3_XXS"); }
Format iq3_s_format() { return coded_format<BlockIQ3_S, read_iq3_s>(DType::kIQ3_S, "IQ3_S"); }

}  // namespace ingle
