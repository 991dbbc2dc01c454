#include "quant/iq3.h"

#include "base/half.h"
#include "quant/block_io.h"
#include "quant/codebooks.h"

namespace ingle {

namespace {

// Eight elements: db times two codebook points, negative where a sign bit is set.
void write_points(const int8_t* first, const int8_t* second, uint8_t signs, float db, float* y) noexcept {
  for (int j = 0; j < 8; ++j) {
    const float magnitude = db * static_cast<float>(j < 4 ? first[j] : second[j - 4]);
    y[j] = ((signs >> j) & 1) != 0 ? -magnitude : magnitude;
  }
}

}  // namespace

void decode_iq3_xxs(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ3_XXS>(src, dst, n, [](const BlockIQ3_XXS& b, float* y) {
    for (int g = 0; g < 8; ++g) {
      uint32_t word;
      std::memcpy(&word, b.scales_signs + 4 * g, sizeof(word));
      const float db = f16_to_f32(b.d) * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      for (int l = 0; l < 4; ++l) {
        const uint8_t* index = b.qs + 8 * g + 2 * l;
        write_points(kCodebookIQ3_XXS.points[index[0]], kCodebookIQ3_XXS.points[index[1]],
                     kEvenSigns.bytes[(word >> (7 * l)) & 127], db, y + 32 * g + 8 * l);
      }
    }
  });
}

void decode_iq3_s(const std::byte* src, float* dst, int64_t n) noexcept {
  decode_blocks<BlockIQ3_S>(src, dst, n, [](const BlockIQ3_S& b, float* y) {
    const auto point = [&](int k) { return kCodebookIQ3_S.points[b.qs[k] | ((b.qh[k / 8] >> (k % 8)) & 1) << 8]; };
    for (int i = 0; i < 32; ++i) {
      const int g = i / 4;
      const int scale = g % 2 == 0 ? lo(b.scales[g / 2]) : hi(b.scales[g / 2]);
      const float db = f16_to_f32(b.d) * static_cast<float>(1 + 2 * scale);
      write_points(point(2 * i), point(2 * i + 1), b.signs[i], db, y + 8 * i);
    }
  });
}

Format iq3_xxs_format() { return block_format<BlockIQ3_XXS>(DType::kIQ3_XXS, "IQ3_XXS", decode_iq3_xxs); }
Format iq3_s_format() { return block_format<BlockIQ3_S>(DType::kIQ3_S, "IQ3_S", decode_iq3_s); }

}  // namespace ingle
