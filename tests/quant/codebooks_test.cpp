#include "quant/codebooks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "quant/format.h"
#include "quant/iq1.h"
#include "quant/iq2.h"
#include "quant/iq3.h"

namespace ingle {
namespace {

TEST(Codebooks, SignBytesAreTheirIndexMadeEven) {
  for (unsigned t = 0; t < 128; ++t) {
    EXPECT_EQ(kEvenSigns.bytes[t] & 127u, t);
    EXPECT_EQ(std::popcount(kEvenSigns.bytes[t]) % 2, 0) << t;
  }
}

// Points are listed in ascending order of their packed levels, so the order, and no entry twice, can be checked here.
template <int Entries, int Width>
void expect_book(const Codebook<Entries, Width>& book, int bits, std::vector<int> levels) {
  uint32_t last = 0;
  for (int entry = 0; entry < Entries; ++entry) {
    uint32_t code = 0;
    for (int i = 0; i < Width; ++i) {
      const auto level = std::find(levels.begin(), levels.end(), book.points[entry][i]);
      ASSERT_NE(level, levels.end()) << entry;
      code |= static_cast<uint32_t>(level - levels.begin()) << (bits * i);
    }
    ASSERT_TRUE(entry == 0 || code > last) << entry;
    last = code;
  }
}

TEST(Codebooks, EntriesHoldOnlyTheirLevelsInAscendingOrder) {
  expect_book(kCodebookIQ2_XXS, 2, {8, 25, 43});
  expect_book(kCodebookIQ2_XS, 2, {8, 25, 43});
  expect_book(kCodebookIQ2_S, 2, {8, 25, 43});
  expect_book(kCodebookIQ1, 2, {-1, 0, 1});
  expect_book(kCodebookIQ3_XXS, 3, {4, 12, 20, 28, 36, 44, 52, 62});
  expect_book(kCodebookIQ3_S, 3, {1, 3, 5, 7, 9, 11, 13, 15});
}

template <class Block>
std::vector<float> decoded(const Block& block, void (*decode)(const std::byte*, float*, int64_t) noexcept) {
  std::vector<float> y(256);
  decode(reinterpret_cast<const std::byte*>(&block), y.data(), 256);
  return y;
}

TEST(Codebooks, EveryEntryOfIQ2_SAndEverySignByteIsReached) {
  for (int index = 0; index < 1024; ++index) {
    BlockIQ2_S block{};
    block.d = 0x4400;        // 4, so that 4 * 0.5 * 0.25 = 0.5 is the factor of scale 0
    block.scales[5] = 0xf0;  // and 4 * 15.5 * 0.25 = 15.5 that of scale 15, the second half of group 5
    block.qs[22] = static_cast<uint8_t>(index);
    block.qh[5] = static_cast<uint8_t>(index >> 8 << 4);
    block.signs[22] = static_cast<uint8_t>(index);
    const auto y = decoded(block, format_of(DType::kIQ2_S).decode);
    for (int j = 0; j < 8; ++j) {
      const float sign = (index >> j & 1) != 0 ? -1 : 1;
      ASSERT_EQ(y[static_cast<size_t>(8 * 22 + j)], sign * 15.5f * kCodebookIQ2_S.points[index][j]) << index;
    }
  }
}

TEST(Codebooks, EveryEntryOfIQ1IsReachedFromBothFormats) {
  for (int index = 0; index < 2048; ++index) {
    BlockIQ1_S s{};
    s.d = 0x3c00;
    s.qs[13] = static_cast<uint8_t>(index);
    s.qh[3] = static_cast<uint16_t>(0x8000 | 2 << 12 | index >> 8 << 3);  // delta down, scale 2, index 13 = 4 * 3 + 1
    BlockIQ1_M m{};
    m.qs[13] = static_cast<uint8_t>(index);
    m.qh[6] = static_cast<uint8_t>((index >> 8 | 8) << 4);
    m.scales[2] = 0x80;  // sub-block 6 = 4 * 1 + 2: scale 2 at bit 6 of word 1
    m.scales[5] = 0xc0;
    m.scales[7] = 0x30;  // words 2 and 3 carry the high half of d = 0x3c00
    const auto y = decoded(s, format_of(DType::kIQ1_S).decode);
    for (int j = 0; j < 8; ++j)
      ASSERT_EQ(y[static_cast<size_t>(8 * 13 + j)], 5 * (kCodebookIQ1.points[index][j] - 0.125f)) << index;
    const auto z = decoded(m, format_of(DType::kIQ1_M).decode);
    for (int j = 0; j < 8; ++j)
      ASSERT_EQ(z[static_cast<size_t>(8 * 13 + j)], 5 * (kCodebookIQ1.points[index][j] - 0.125f)) << index;
  }
}

TEST(Codebooks, IQ3_SReadsTheNinthBitOfItsIndex) {
  for (int index = 0; index < 512; ++index) {
    BlockIQ3_S block{};
    block.d = 0x3c00;
    block.scales[2] = 0x30;  // group 5: 1 + 2 * 3
    block.qs[43] = static_cast<uint8_t>(index);
    block.qh[5] = static_cast<uint8_t>(index >> 8 << 3);
    block.signs[21] = 0x50;  // elements 4 and 6 of these eight, so 0 and 2 of the second four
    const auto y = decoded(block, format_of(DType::kIQ3_S).decode);
    for (int j = 0; j < 4; ++j) {
      const float sign = j % 2 == 0 ? -1 : 1;
      ASSERT_EQ(y[static_cast<size_t>(4 * 43 + j)], sign * 7 * kCodebookIQ3_S.points[index][j]) << index;
    }
  }
}

}  // namespace
}  // namespace ingle
