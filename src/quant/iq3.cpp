#include "quant/iq3.h"

#include <algorithm>

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"
#include "quant/signed_points.h"

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

void pack_iq3_xxs(const float* x, const float* importance, BlockIQ3_XXS& b) noexcept {
  static const NearestPoints<256, 4, 8> kNear(kCodebookIQ3_XXS);
  constexpr ScaleRange kRange = {4, 36, 70};  // levels are 4 to 62
  constexpr float kUnits = 4;                 // (0.5 + scale) * 0.5 = (2 * scale + 1) / 4
  const WeighedBlock block(x, importance, 32);
  b.d = block.plain_scale();
  if (!block.searchable()) return;
  SignedPoints points(kNear, block, Signs::kEven);
  uint8_t codes[8];
  b.d = choose_points<8>(points, block.magnitude, kRange, kUnits, codes);
  for (int i = 0; i < 64; ++i) b.qs[i] = static_cast<uint8_t>(points.index[i]);
  for (int g = 0; g < 8; ++g) {
    uint32_t word = static_cast<uint32_t>(codes[g]) << 28;
    for (int l = 0; l < 4; ++l) word |= static_cast<uint32_t>(points.signs[4 * g + l] & 127) << (7 * l);
    std::memcpy(b.scales_signs + 4 * g, &word, sizeof(word));
  }
}

void pack_iq3_s(const float* x, const float* importance, BlockIQ3_S& b) noexcept {
  static const NearestPoints<512, 4, 8> kNear(kCodebookIQ3_S);
  constexpr ScaleRange kRange = {1, 9, 17.5f};  // levels are 1 to 15
  const WeighedBlock block(x, importance, 32);
  b.d = block.plain_scale();
  if (!block.searchable()) return;
  SignedPoints points(kNear, block, Signs::kAny);
  uint8_t codes[8];
  b.d = choose_points<8>(points, block.magnitude, kRange, 1, codes);
  for (int i = 0; i < 64; ++i) {
    b.qs[i] = static_cast<uint8_t>(points.index[i] & 255);
    b.qh[i / 8] |= static_cast<uint8_t>((points.index[i] >> 8) << (i % 8));
  }
  std::copy_n(points.signs, 32, b.signs);
  for (int g = 0; g < 4; ++g) b.scales[g] = static_cast<uint8_t>(codes[2 * g] | codes[2 * g + 1] << 4);
}

}  // namespace

void encode_iq3_xxs(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ3_XXS>(src, dst, n, importance, pack_iq3_xxs);
}
void encode_iq3_s(const float* src, std::byte* dst, int64_t n, const float* importance) noexcept {
  encode_blocks<BlockIQ3_S>(src, dst, n, importance, pack_iq3_s);
}

Format iq3_xxs_format() { return coded_format<BlockIQ3_XXS, read_iq3_xxs>(DType::kIQ3_XXS, "IQ3_XXS", encode_iq3_xxs); }
Format iq3_s_format() { return coded_format<BlockIQ3_S, read_iq3_s>(DType::kIQ3_S, "IQ3_S", encode_iq3_s); }

}  // namespace ingle
