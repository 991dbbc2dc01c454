#include "quant/k_scales.h"

#include <gtest/gtest.h>

namespace ingle {
namespace {

TEST(KScales, EveryPairComesBackWhateverTheOthersAre) {
  for (int value = 0; value < 64; ++value) {
    uint8_t bytes[12] = {};
    for (int j = 0; j < 8; ++j) pack_scale_min(bytes, j, {(value + 11 * j) % 64, (63 - value + 5 * j) % 64});
    for (int j = 0; j < 8; ++j) {
      const ScaleMin got = unpack_scale_min(bytes, j);
      EXPECT_EQ(got.scale, (value + 11 * j) % 64) << j;
      EXPECT_EQ(got.min, (63 - value + 5 * j) % 64) << j;
    }
  }
}

TEST(KScales, TheBytesLieAsTheFormatSays) {
  uint8_t bytes[12] = {};
  pack_scale_min(bytes, 1, {0b10'1010, 0b01'0101});
  pack_scale_min(bytes, 5, {0b11'0110, 0b10'1001});
  const uint8_t expected[12] = {0, 0b11'10'1010, 0, 0, 0, 0b10'01'0101, 0, 0, 0, 0b1001'0110, 0, 0};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(bytes[i], expected[i]) << i;
}

}  // namespace
}  // namespace ingle
