#include "quant/fp4.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "quant/format.h"

namespace ingle {
namespace {

constexpr float kValues[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};

std::array<float, 32> decoded(uint8_t e) {
  BlockMXFP4 block{};
  block.e = e;
  for (int j = 0; j < 16; ++j) block.qs[j] = static_cast<uint8_t>(j | (15 - j) << 4);
  std::array<float, 32> y;
  decode_mxfp4(reinterpret_cast<const std::byte*>(&block), y.data(), 32);
  return y;
}

TEST(Mxfp4, EveryCodeIsItsValueTimesAPowerOfTwo) {
  for (int e : {0, 1, 2, 3, 100, 127, 128, 252}) {
    const auto y = decoded(static_cast<uint8_t>(e));
    for (size_t j = 0; j < 16; ++j) {
      EXPECT_EQ(y[j], static_cast<float>(std::ldexp(kValues[j], e - 127))) << e << " code " << j;
      EXPECT_EQ(y[j + 16], static_cast<float>(std::ldexp(kValues[15 - j], e - 127))) << e << " code " << 15 - j;
    }
  }
}

TEST(Mxfp4, TheSmallestScalesAreSubnormalButExact) {
  EXPECT_EQ(mxfp4_half_scale(0), 0x1p-128f);
  EXPECT_EQ(mxfp4_half_scale(1), 0x1p-127f);
  EXPECT_EQ(mxfp4_half_scale(2), 0x1p-126f);
  EXPECT_EQ(decoded(0)[1], 0x1p-128f);
}

TEST(Mxfp4, TheLargestScalesOverflowToInfinity) {
  EXPECT_EQ(decoded(254)[2], 0x1p127f);
  EXPECT_EQ(decoded(254)[4], std::numeric_limits<float>::infinity());
  EXPECT_EQ(decoded(254)[12], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(decoded(254)[0], 0);
}

TEST(Mxfp4, EncodingKeepsWhatTheFormatCanHold) {
  for (int e : {1, 2, 60, 127, 200}) {
    const auto x = decoded(static_cast<uint8_t>(e));
    BlockMXFP4 block;
    encode_mxfp4(x.data(), reinterpret_cast<std::byte*>(&block), 32, nullptr);
    EXPECT_EQ(block.e, e);
    std::array<float, 32> y;
    decode_mxfp4(reinterpret_cast<const std::byte*>(&block), y.data(), 32);
    EXPECT_EQ(x, y) << e;
  }
}

TEST(Nvfp4, EveryScaleByteIsAnUnsignedFloatOfFourAndThreeBits) {
  for (int byte = 0; byte < 256; ++byte) {
    const int exponent = byte / 8 % 16, mantissa = byte % 8;
    double expected = exponent == 0 ? mantissa / 512.0 : (1 + mantissa / 8.0) * std::pow(2.0, exponent - 7);
    if (byte == 0x7f) expected = 0;
    EXPECT_EQ(nvfp4_scale(static_cast<uint8_t>(byte)), expected) << byte;
  }
  EXPECT_EQ(nvfp4_scale(0x38), 1);
  EXPECT_EQ(nvfp4_scale(0x7e), 448);
}

TEST(Nvfp4, EachScaleServesSixteenElementsInHalvesOfEight) {
  BlockNVFP4 block{};
  const uint8_t scales[4] = {0x38, 0x40, 0x30, 0x00};  // 1, 2, 0.5, 0
  for (int s = 0; s < 4; ++s) {
    block.d[s] = scales[s];
    for (int j = 0; j < 8; ++j) block.qs[8 * s + j] = static_cast<uint8_t>(j | (j + 8) << 4);
  }
  std::array<float, 64> y;
  format_of(DType::kNVFP4).decode(reinterpret_cast<const std::byte*>(&block), y.data(), 64);
  const float factor[4] = {1, 2, 0.5f, 0};
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], factor[i / 16] * kValues[i % 16]) << i;
}

}  // namespace
}  // namespace ingle
