#include "quant/iq2.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"

namespace ingle {

namespace {

// Eight elements: db times a codebook point, negative where a sign bit is set.
void write_point(const int8_t* point, uint8_t signs, float db, float* y) noexcept {
  for (int j = 0; j < 8; ++j) {
    const float magnitude = db * static_cast<float>(point[j]);
    y[j] = ((signs >> j) & 1) != 0 ? -magnitude : magnitude;
  }
}

float group_scale(uint16_t d, int scale) noexcept { return f16_to_f32(d) * (0.5f + static_cast<float>(scale)) * 0.25f; }

}  // namespace

void decode_iq2_xxs(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ2_XXS>(src, dst, n, [](const BlockIQ2_XXS& b, float* y) {
    for (int g = 0; g < 8; ++g) {
      uint32_t indices, rest;
      std::memcpy(&indices, b.qs + 4 * g, sizeof(indices));
      std::memcpy(&rest, b.qs + 4 * g + 2, sizeof(rest));
      const float db = group_scale(b.d, static_cast<int>(rest >> 28));
      for (int l = 0; l < 4; ++l)
        write_point(kCodebookIQ2_XXS.points[(indices >> (8 * l)) & 255], kEvenSigns.bytes[(rest >> (7 * l)) & 127], db,
                    y + 32 * g + 8 * l);
    }
  });
}

void decode_iq2_xs(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ2_XS>(src, dst, n, [](const BlockIQ2_XS& b, float* y) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t pair = b.scales[i / 4];
      const float db = group_scale(b.d, i % 4 < 2 ? lo(pair) : hi(pair));
      write_point(kCodebookIQ2_XS.points[b.qs[i] & 511], kEvenSigns.bytes[b.qs[i] >> 9], db, y + 8 * i);
    }
  });
}

void decode_iq2_s(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ2_S>(src, dst, n, [](const BlockIQ2_S& b, float* y) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t pair = b.scales[i / 4];
      const float db = group_scale(b.d, i % 4 < 2 ? lo(pair) : hi(pair));
      const int index = b.qs[i] | ((b.qh[i / 4] >> (2 * (i % 4))) & 3) << 8;
      write_point(kCodebookIQ2_S.points[index], b.signs[i], db, y + 8 * i);
    }
  });
}

Format iq2_xxs_format() { return block_format<BlockIQ2_XXS>(DType::kIQ2_XXS, "IQ2_XXS", decode_iq2_xxs); }
Format iq2_xs_format() { return block_format<BlockIQ2_XS>(DType::kIQ2_XS, "IQ2_XS", decode_iq2_xs); }
Format iq2_s_format() { return block_format<BlockIQ2_S>(DType::kIQ2_S, "IQ2_S", decode_iq2_s); }

}  // namespace ingle
