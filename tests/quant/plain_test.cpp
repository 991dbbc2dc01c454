#include "quant/plain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "quant/format.h"

namespace ingle {
namespace {

template <class Element>
std::vector<float> decoded(DType type, std::vector<Element> elements) {
  std::vector<float> y(elements.size());
  format_of(type).decode(reinterpret_cast<const std::byte*>(elements.data()), y.data(), static_cast<int64_t>(y.size()));
  return y;
}

using Floats = std::vector<float>;

TEST(Plain, IntegersDecodeToTheirValues) {
  EXPECT_EQ(decoded<int8_t>(DType::kI8, {0, 1, -1, 127, -128}), (Floats{0, 1, -1, 127, -128}));
  EXPECT_EQ(decoded<int16_t>(DType::kI16, {0, 300, -32768, 32767}), (Floats{0, 300, -32768, 32767}));
  EXPECT_EQ(decoded<int32_t>(DType::kI32, {-5, 16777217, INT32_MIN}), (Floats{-5, 16777216, -0x1p31f}));
  EXPECT_EQ(decoded<int64_t>(DType::kI64, {7, INT64_MIN, INT64_MAX}), (Floats{7, -0x1p63f, 0x1p63f}));
}

TEST(Plain, DoublesRoundToTheNearestFloatOrOverflow) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(decoded<double>(DType::kF64, {0.1, -2.5, 1e300, -1e300, 1e-300}),
            (Floats{0.1f, -2.5f, infinity, -infinity, 0}));
  EXPECT_TRUE(std::isnan(decoded<double>(DType::kF64, {std::nan("")})[0]));
}

TEST(Plain, HalvesDecodeToTheirValues) {
  EXPECT_EQ(decoded<uint16_t>(DType::kF16, {0x3c00, 0xc000, 0x0001}), (Floats{1, -2, 0x1p-24f}));
  EXPECT_EQ(decoded<uint16_t>(DType::kBF16, {0x3f80, 0xc000, 0x0001}), (Floats{1, -2, 0x1p-133f}));
}

TEST(Plain, F32KeepsEveryBitBothWays) {
  const Floats x = {0.0f, -0.0f, 1.5f, 1e-45f, std::numeric_limits<float>::infinity(), std::nanf("0x123")};
  std::vector<std::byte> row(x.size() * 4);
  encode_f32(x.data(), row.data(), static_cast<int64_t>(x.size()), nullptr);
  EXPECT_EQ(std::memcmp(row.data(), x.data(), row.size()), 0);
  Floats y(x.size());
  decode_f32(row.data(), y.data(), static_cast<int64_t>(x.size()));
  EXPECT_EQ(std::memcmp(y.data(), x.data(), row.size()), 0);
}

TEST(Plain, AnEmptyRowTouchesNothing) {
  for (const Format& f : formats()) {
    f.decode(nullptr, nullptr, 0);
    if (f.encode != nullptr && f.block_elements == 1) f.encode(nullptr, nullptr, 0, nullptr);
  }
}

}  // namespace
}  // namespace ingle
