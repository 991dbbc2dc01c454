#include "base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ingle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What rounding to nearest even means, said in doubles: a number with `mantissa` bits after the leading one and
// exponents from `smallest` up is a multiple of 2^(exponent - mantissa), and nearbyint rounds to even.
double round_to(double x, int mantissa, int smallest, double overflow) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int unit = std::max(std::ilogb(x), smallest) - mantissa;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::fabs(rounded) >= overflow ? std::copysign(static_cast<double>(kInfinity), x) : rounded;
}
double f16_by_definition(float x) { return round_to(x, 10, -14, 65536); }
double bf16_by_definition(float x) { return round_to(x, 7, -126, 0x1p128); }

TEST(Half, EveryF16SurvivesTheWayToF32AndBack) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const uint16_t back = f32_to_f16(f16_to_f32(static_cast<uint16_t>(h)));
    const bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0;
    ASSERT_EQ(back, nan ? h | 0x200 : h) << h;  // a NaN comes back quiet
    ASSERT_EQ(std::isnan(f16_to_f32(static_cast<uint16_t>(h))), nan) << h;
  }
}

TEST(Half, EveryBf16SurvivesTheWayToF32AndBack) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const uint16_t back = f32_to_bf16(bf16_to_f32(static_cast<uint16_t>(h)));
    const bool nan = (h & 0x7f80) == 0x7f80 && (h & 0x7f) != 0;
    ASSERT_EQ(back, nan ? h | 0x40 : h) << h;
  }
}

TEST(Half, F16ValuesAreWhatTheBitsSay) {
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_f32(0xc000), -2.0f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_f32(0x0400), 0x1p-14f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x7c00), kInfinity);
  EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
  for (uint32_t h = 0; h < 0x7c00; ++h) {
    const int exponent = static_cast<int>(h >> 10);
    const double significand = exponent == 0 ? (h & 0x3ff) / 1024.0 : 1 + (h & 0x3ff) / 1024.0;
    ASSERT_EQ(f16_to_f32(static_cast<uint16_t>(h)), std::ldexp(significand, std::max(exponent, 1) - 15)) << h;
  }
}

TEST(Half, AHalfwayPointGoesToTheEvenNeighbourAndItsNeighboursToTheNearest) {
  for (uint16_t h = 0; h < 0x7bff; ++h) {
    const float low = f16_to_f32(h);
    const float high = f16_to_f32(static_cast<uint16_t>(h + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(f32_to_f16(middle), h % 2 == 0 ? h : h + 1) << h;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, -kInfinity)), h) << h;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInfinity)), h + 1) << h;
    ASSERT_EQ(f32_to_f16(-middle), 0x8000 | (h % 2 == 0 ? h : h + 1)) << h;
  }
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7c00);
}

TEST(Half, BothTypesRoundAsTheDefinitionInDoublesSays) {
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 7919) {  // every exponent, mantissas of all kinds
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(x)))) << bits;
      ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(x)))) << bits;
      continue;
    }
    ASSERT_EQ(f16_to_f32(f32_to_f16(x)), f16_by_definition(x)) << x;
    ASSERT_EQ(bf16_to_f32(f32_to_bf16(x)), bf16_by_definition(x)) << x;
    ASSERT_EQ(std::signbit(f16_to_f32(f32_to_f16(x))), std::signbit(x)) << x;
  }
}

TEST(Half, ANanKeepsItsSignAndTurnsQuiet) {
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0x7f800001u)), 0x7e00);
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0xffc00000u)), 0xfe00);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xff800001u)), 0xffc0);
}

}  // namespace
}  // namespace ingle
