#include "quant/iq2.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"
#include "quant/signed_points.h"

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

constexpr ScaleRange kRange = {8, 26, 56};  // levels are 8 to 43
constexpr float kUnits = 8;                 // (0.5 + scale) * 0.25 = (2 * scale + 1) / 8

template <int Entries>
using Near = NearestPoints<Entries, 8, 3>;

void pack_iq2_xxs(const float* x, const float* importance, BlockIQ2_XXS& b) noexcept {
  static const Near<256> kNear(kCodebookIQ2_XXS);
  const WeighedBlock block(x, importance, 32);
  b.d = block.plain_scale();
  if (!block.searchable()) return;
  SignedPoints points(kNear, block, Signs::kEven);
  uint8_t codes[8];
  b.d = choose_points<8>(points, block.magnitude, kRange, kUnits, codes);
  for (int g = 0; g < 8; ++g) {
    uint32_t indices = 0, rest = static_cast<uint32_t>(codes[g]) << 28;
    for (int l = 0; l < 4; ++l) {
      indices |= static_cast<uint32_t>(points.index[4 * g + l]) << (8 * l);
      rest |= static_cast<uint32_t>(points.signs[4 * g + l] & 127) << (7 * l);
    }
    std::memcpy(b.qs + 4 * g, &indices, sizeof(indices));
    std::memcpy(b.qs + 4 * g + 2, &rest, sizeof(rest));
  }
}

void pack_iq2_xs(const float* x, const float* importance, BlockIQ2_XS& b) noexcept {
  static const Near<512> kNear(kCodebookIQ2_XS);
  const WeighedBlock block(x, importance, 16);
  b.d = block.plain_scale();
  if (!block.searchable()) return;
  SignedPoints points(kNear, block, Signs::kEven);
  uint8_t codes[16];
  b.d = choose_points<16>(points, block.magnitude, kRange, kUnits, codes);
  for (int i = 0; i < 32; ++i) b.qs[i] = static_cast<uint16_t>(points.index[i] | (points.signs[i] & 127) << 9);
  for (int g = 0; g < 8; ++g) b.scales[g] = static_cast<uint8_t>(codes[2 * g] | codes[2 * g + 1] << 4);
}

void pack_iq2_s(const float* x, const float* importance, BlockIQ2_S& b) noexcept {
  static const Near<1024> kNear(kCodebookIQ2_S);
  const WeighedBlock block(x, importance, 16);
  b.d = block.plain_scale();
  if (!block.searchable()) return;
  SignedPoints points(kNear, block, Signs::kAny);
  uint8_t codes[16];
  b.d = choose_points<16>(points, block.magnitude, kRange, kUnits, codes);
  for (int i = 0; i < 32; ++i) {
    b.qs[i] = static_cast<uint8_t>(points.index[i] & 255);
    b.qh[i / 4] |= static_cast<uint8_t>((points.index[i] >> 8) << (2 * (i % 4)));
    b.signs[i] = points.signs[i];
  }
  for (int g = 0; g < 8; ++g) b.scales[g] = static_cast<uint8_t>(codes[2 * g] | codes[2 * g + 1] << 4);
}

}  // namespace

void encode_iq2_xxs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ2_XXS>(src, dst, n, importance, pack_iq2_xxs);
}
void encode_iq2_xs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ2_XS>(src, dst, n, importance, pack_iq2_xs);
}
void encode_iq2_s(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ2_S>(src, dst, n, importance, pack_iq2_s);
}

Format iq2_xxs_format() { return coded_format<BlockIQ2_XXS, read_iq2_xxs>(DType::kIQ2_XXS, "IQ2_XXS", encode_iq2_xxs); }
Format iq2_xs_format() { return coded_format<BlockIQ2_XS, read_iq2_xs>(DType::kIQ2_XS, "IQ2_XS", encode_iq2_xs); }
Format iq2_s_format() { return coded_format<BlockIQ2_S, read_iq2_s>(DType::kIQ2_S, "IQ2_S", encode_iq2_s); }

}  // namespace ingle
