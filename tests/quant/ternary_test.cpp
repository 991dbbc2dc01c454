#include "quant/ternary.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "quant/format.h"

namespace ingle {
namespace {

constexpr uint16_t kOne = 0x3c00;  // f16

template <class Block>
std::array<float, 256> decoded(const Block& block, void (*decode)(const std::byte*, float*, int64_t) noexcept) {
  std::array<float, 256> y;
  decode(reinterpret_cast<const std::byte*>(&block), y.data(), 256);
  return y;
}

TEST(Ternary, EveryByteOfFiveDigitsDecodesToThoseDigits) {
  for (int combination = 0; combination < 243; ++combination) {
    // The encoder's rule: the fraction combination / 243 in eight bits, rounded up.
    const auto byte = static_cast<uint8_t>((combination * 256 + 242) / 243);
    int digits[5];
    for (int n = 4, rest = combination; n >= 0; --n, rest /= 3) digits[n] = rest % 3;  // the first is most significant

    BlockTQ1_0 block{};
    block.d = kOne;
    block.qs[7] = byte;
    block.qs[32 + 9] = byte;
    block.qh[2] = byte;
    const auto y = decoded(block, format_of(DType::kTQ1_0).decode);
    for (int n = 0; n < 5; ++n) {
      EXPECT_EQ(y[static_cast<size_t>(32 * n + 7)], digits[n] - 1) << combination;
      EXPECT_EQ(y[static_cast<size_t>(160 + 16 * n + 9)], digits[n] - 1) << combination;
    }
    for (int n = 0; n < 4; ++n) EXPECT_EQ(y[static_cast<size_t>(240 + 4 * n + 2)], digits[n] - 1) << combination;
  }
}

TEST(Ternary, TheLastBytesOfTQ1_0HoldFourDigits) {
  BlockTQ1_0 block{};
  block.d = kOne;
  std::memset(block.qs, 128, sizeof(block.qs));  // 11111 in base 3, all zeros
  const uint8_t bytes[4] = {0, 86, 171, 255};    // 0000.., 1000.., 2000.., 2222..
  std::memcpy(block.qh, bytes, 4);
  const auto y = decoded(block, format_of(DType::kTQ1_0).decode);
  for (size_t i = 0; i < 240; ++i) EXPECT_EQ(y[i], 0) << i;
  EXPECT_EQ(y[240], -1);
  EXPECT_EQ(y[241], 0);
  EXPECT_EQ(y[242], 1);
  for (size_t n = 0; n < 4; ++n) EXPECT_EQ(y[240 + 4 * n + 3], 1) << n;
}

TEST(Ternary, TQ2_0KeepsFourPlanesOf32InEachHalf) {
  BlockTQ2_0 block{};
  block.d = 0x4000;                               // 2
  std::memset(block.qs, 0b10'01'00'10, 32);       // planes 0 .. 3: 2, 0, 1, 2
  std::memset(block.qs + 32, 0b01'01'11'00, 32);  // planes 0 .. 3: 0, 3, 1, 1
  const auto y = decoded(block, format_of(DType::kTQ2_0).decode);
  const float expected[8] = {2, -2, 0, 2, -2, 4, 0, 0};
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(y[i], expected[i / 32]) << i;
}

}  // namespace
}  // namespace ingle
