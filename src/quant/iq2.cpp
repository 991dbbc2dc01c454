#include "quant/iq2.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"

namespace ingle {

namespace {

float group_scale(uint16_t d, int scale) noexcept { return f16_to_f32(d) * (0.5f + static_cast<float>(scale)) * 0.25f; }

void read_iq2_xxs(const BlockIQ2_XXS& b, int group, Codes& c) noexcept {
  uint32_t indices, rest;
  std::memcpy(&indices, b.qs + 4 * group, sizeof(indices));
  std::memcpy(&rest, b.qs + 4 * group + 2, sizeof(rest));
  c.scale[0] = c.scale[1] = group_scale(b.d, static_cast<int>(rest >> 28));
  for (int l = 0; l < 4; ++l) {
    const uint64_t point = read_eight(kCodebookIQ2_XXS.points[(indices >> (8 * l)) & 255]);
    write_eight(c.q + 8 * l, with_signs(point, kEvenSigns.bytes[(rest >> (7 * l)) & 127]));
  }
}

void read_iq2_xs(const BlockIQ2_XS& b, int group, Codes& c) noexcept {
  c.scale[0] = group_scale(b.d, lo(b.scales[group]));
  c.scale[1] = group_scale(b.d, hi(b.scales[group]));
  for (int l = 0; l < 4; ++l) {
    const uint16_t code = b.qs[4 * group + l];
    write_eight(c.q + 8 * l, with_signs(read_eight(kCodebookIQ2_XS.points[code & 511]), kEvenSigns.bytes[code >> 9]));
  }
}

void read_iq2_s(const BlockIQ2_S& b, int group, Codes& c) noexcept {
  c.scale[0] = group_scale(b.d, lo(b.scales[group]));
  c.scale[1] = group_scale(b.d, hi(b.scales[group]));
  for (int l = 0; l < 4; ++l) {
    const int index = b.qs[4 * group + l] | ((b.qh[group] >> (2 * l)) & 3) << 8;
    write_eight(c.q + 8 * l, with_signs(read_eight(kCodebookIQ2_S.points[index]), b.signs[4 * group + l]));
  }
}

}  // namespace

Format iq2_xxs_format() { return coded_format<BlockIQ2_XXS, read_iq2_xxs>(DType::kIQ2_XXS, "IQ2_XXS"); }
Format iq2_xs_format() { return coded_format<BlockIQ2_XS, read_iq2_xs>(DType::kIQ2_XS, "IQ2_XS"); }
Format iq2_s_format() { return coded_format<BlockIQ2_S, read_iq2_s>(DType::kIQ2_S, "IQ2_S"); }

}  // namespace ingle
