#include "runtime/random_weights.h"

#include <cmath>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/half.h"
#include "quant/k_scales.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "runtime/random.h"

namespace ingle {
namespace {

using Recipe = RandomTensor::Recipe;

// FNV-1a.
uint64_t hash(std::string_view text) noexcept {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return h;
}

uint64_t mix(uint64_t a, uint64_t b) noexcept { return SplitMix64(a ^ SplitMix64(b).next()).next(); }

void fill_bytes(SplitMix64& random, void* out, size_t bytes) noexcept {
  auto* at = static_cast<std::byte*>(out);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    const uint64_t word = random.next();
    std::memcpy(at, &word, 8);
  }
  if (bytes == 0) return;
  const uint64_t word = random.next();
  std::memcpy(at, &word, bytes);
}

// One of the scales, with a random sign: as the middle of the codes is not quite 0, it makes the mean 0.
uint16_t signed_scale(const Recipe& r, uint64_t bits) noexcept {
  return static_cast<uint16_t>(r.scales[bits & 15] | (bits & 16) << 11);
}

// A row of blocks, each made by `make(block, random)`.
template <class Block, class Make>
void for_blocks(const Recipe& r, uint64_t key, std::byte* out, Make make) noexcept {
  SplitMix64 random(key);
  for (int64_t b = 0; b < r.columns / Block::kElements; ++b, out += sizeof(Block)) {
    Block block;
    make(block, random);
    std::memcpy(out, &block, sizeof block);
  }
}

template <class Block>
void fill_symmetric(const Recipe& r, uint64_t key, std::byte* out) noexcept {  // Q4_0, Q5_0
  for_blocks<Block>(r, key, out, [&](Block& block, SplitMix64& random) {
    const uint64_t bits = random.next();
    block.d = signed_scale(r, bits);
    fill_bytes(random, block.qs, sizeof block.qs);
    if constexpr (requires { block.qh; }) {
      const auto high = static_cast<uint32_t>(bits >> 32);
      std::memcpy(block.qh, &high, sizeof block.qh);
    }
  });
}

template <class Block>
void fill_offset(const Recipe& r, uint64_t key, std::byte* out) noexcept {  // Q4_1, Q5_1
  for_blocks<Block>(r, key, out, [&](Block& block, SplitMix64& random) {
    const uint64_t bits = random.next();
    block.d = r.scales[bits & 15];
    block.m = static_cast<uint16_t>(r.offsets[bits & 15] | 0x8000);  // the lowest number
    fill_bytes(random, block.qs, sizeof block.qs);
    if constexpr (requires { block.qh; }) {
      const auto high = static_cast<uint32_t>(bits >> 32);
      std::memcpy(block.qh, &high, sizeof block.qh);
    }
  });
}

void fill_q8_0(const Recipe& r, uint64_t key, std::byte* out) noexcept {
  for_blocks<BlockQ8_0>(r, key, out, [&](BlockQ8_0& block, SplitMix64& random) {
    block.d = r.scales[random.next() & 15];
    fill_bytes(random, block.qs, sizeof block.qs);
    for (int8_t& q : block.qs) q = q == -128 ? 0 : q;  // quantisers never write it
  });
}

template <class Block>
void fill_k(const Recipe& r, uint64_t key, std::byte* out) noexcept {  // Q4_K, Q5_K
  for_blocks<Block>(r, key, out, [&](Block& block, SplitMix64& random) {
    const uint64_t bits = random.next();
    block.d = r.scales[bits & 15];
    block.dmin = r.offsets[bits & 15];
    // Equal scales and minima, since the offset above is what makes the middle of the codes 0.
    std::memset(block.scales, 0, sizeof block.scales);
    for (int j = 0; j < 8; ++j) {
      const int scale = 32 + static_cast<int>(bits >> (8 + 5 * j) & 31);
      pack_scale_min(block.scales, j, {scale, scale});
    }
    fill_bytes(random, block.qs, sizeof block.qs);
    if constexpr (requires { block.qh; }) fill_bytes(random, block.qh, sizeof block.qh);
  });
}

void fill_q6_k(const Recipe& r, uint64_t key, std::byte* out) noexcept {
  for_blocks<BlockQ6_K>(r, key, out, [&](BlockQ6_K& block, SplitMix64& random) {
    block.d = r.scales[random.next() & 15];
    fill_bytes(random, block.scales, sizeof block.scales);
    // 64..127 with both signs.
    for (int8_t& scale : block.scales) scale = static_cast<int8_t>(scale < 0 ? -((scale & 63) | 64) : scale | 64);
    fill_bytes(random, block.ql, sizeof block.ql);
    fill_bytes(random, block.qh, sizeof block.qh);
  });
}

// Uniform numbers; `store(x, out)` writes one. Two of a word, whole multiples of one step, so that every machine rounds
// alike.
template <class Store>
void fill_plain(const Recipe& r, uint64_t key, std::byte* out, size_t size, Store store) noexcept {
  SplitMix64 random(key);
  const auto step = static_cast<float>(r.spread.deviation * 1.7320508075688772 * 0x1p-23);
  const auto mean = static_cast<float>(r.spread.mean);
  const auto number = [&](uint32_t bits) {
    const float x = static_cast<float>(static_cast<int32_t>(bits) >> 8) * step;
    return mean == 0 ? x : static_cast<float>(static_cast<double>(mean) + static_cast<double>(x));
  };
  int64_t i = 0;
  for (; i + 1 < r.columns; i += 2, out += 2 * size) {
    const uint64_t word = random.next();
    store(number(static_cast<uint32_t>(word)), out);
    store(number(static_cast<uint32_t>(word >> 32)), out + size);
  }
  if (i < r.columns) store(number(static_cast<uint32_t>(random.next())), out);
}

void fill_f32(const Recipe& r, uint64_t key, std::byte* out) noexcept {
  fill_plain(r, key, out, 4, [](float x, std::byte* to) { std::memcpy(to, &x, 4); });
}
void fill_f16(const Recipe& r, uint64_t key, std::byte* out) noexcept {
  fill_plain(r, key, out, 2, [](float x, std::byte* to) {
    const uint16_t half = f32_to_f16(x);
    std::memcpy(to, &half, 2);
  });
}
void fill_bf16(const Recipe& r, uint64_t key, std::byte* out) noexcept {
  fill_plain(r, key, out, 2, [](float x, std::byte* to) {
    const uint16_t half = f32_to_bf16(x);
    std::memcpy(to, &half, 2);
  });
}

void fill_from_pool(const Recipe& r, uint64_t key, std::byte* out) noexcept {
  SplitMix64 random(key);
  const size_t size = r.format->block_bytes;
  for (int64_t b = 0; b < r.columns / r.format->block_elements; ++b, out += size) {
    const uint64_t chosen = (random.next() >> 32) * static_cast<uint64_t>(r.pool_blocks) >> 32;
    std::memcpy(out, r.pool.data() + chosen * size, size);
  }
}

// unit: root mean square of what a block makes of a scale of 1, its offset included. offset: the middle of its codes,
// in units of the scale, where the format subtracts one that it stores.
struct Row {
  DType type;
  void (*fill)(const Recipe& recipe, uint64_t key, std::byte* out) noexcept;
  double unit, offset;
};

// Codes uniform in 0..n-1 have a deviation of sqrt((n^2 - 1) / 12); the scales of K-blocks have the mean square given.
constexpr double kMeanSquareScale = 2341;    // of 32..63
constexpr double kMeanSquareScaleQ6 = 9461;  // of 64..127
const Row kRows[] = {
    {DType::kF32, fill_f32, 0, 0},
    {DType::kF16, fill_f16, 0, 0},
    {DType::kBF16, fill_bf16, 0, 0},
    {DType::kQ4_0, fill_symmetric<BlockQ4_0>, std::sqrt(255.0 / 12), 0},
    {DType::kQ4_1, fill_offset<BlockQ4_1>, std::sqrt(255.0 / 12), 7.5},
    {DType::kQ5_0, fill_symmetric<BlockQ5_0>, std::sqrt(1023.0 / 12), 0},
    {DType::kQ5_1, fill_offset<BlockQ5_1>, std::sqrt(1023.0 / 12), 15.5},
    {DType::kQ8_0, fill_q8_0, std::sqrt(65535.0 / 12), 0},
    {DType::kQ4_K, fill_k<BlockQ4_K>, std::sqrt(255.0 / 12 * kMeanSquareScale), 7.5},
    {DType::kQ5_K, fill_k<BlockQ5_K>, std::sqrt(1023.0 / 12 * kMeanSquareScale), 15.5},
    {DType::kQ6_K, fill_q6_k, std::sqrt(4095.0 / 12 * kMeanSquareScaleQ6), 0},
};

// Enough to look random, few enough to be encoded in a moment.
constexpr int64_t kPoolElements = 16384;

void fill_pool(Recipe& r, uint64_t key) {
  r.pool_blocks = kPoolElements / r.format->block_elements;
  r.pool.resize(static_cast<size_t>(r.pool_blocks) * r.format->block_bytes);
  Recipe plain;
  plain.spread = r.spread;
  plain.columns = kPoolElements;
  std::vector<float> numbers(kPoolElements);
  fill_f32(plain, key, reinterpret_cast<std::byte*>(numbers.data()));
  r.format->encode(numbers.data(), r.pool.data(), kPoolElements, nullptr);
  // What rounding to few levels takes away: blocks that are closest to their numbers are smaller than these.
  constexpr double kWorthMending = 0.97;
  std::vector<float> decoded(kPoolElements);
  r.format->decode(r.pool.data(), decoded.data(), kPoolElements);
  double squares = 0;
  for (const float number : decoded) squares += static_cast<double>(number) * number;
  const double kept = std::sqrt(squares / kPoolElements) / r.spread.deviation;
  if (kept >= kWorthMending || kept == 0) return;
  for (float& number : numbers) number = static_cast<float>(number / kept);
  r.format->encode(numbers.data(), r.pool.data(), kPoolElements, nullptr);
}

}  // namespace

bool can_be_random(const Format& format) noexcept { return format.encode != nullptr && format.type != DType::kQ8_K; }

RandomTensor::RandomTensor(uint64_t seed, std::string_view name, const Format& format, int64_t columns, Spread spread)
    : key_(mix(seed, hash(name))), fill_row_(fill_from_pool) {
  INGLE_CHECK(can_be_random(format) && columns % format.block_elements == 0);
  INGLE_CHECK(spread.mean == 0 || format.type == DType::kF32);
  recipe_.spread = spread;
  recipe_.columns = columns;
  recipe_.format = &format;
  for (const Row& row : kRows) {
    if (row.type != format.type) continue;
    fill_row_ = row.fill;
    for (int i = 0; row.unit > 0 && i < 16; ++i) {
      const double scale = spread.deviation / row.unit * (0.75 + i / 30.0);
      recipe_.scales[i] = f32_to_f16(static_cast<float>(scale));
      // Of the scale as it was rounded.
      recipe_.offsets[i] = f32_to_f16(static_cast<float>(row.offset) * f16_to_f32(recipe_.scales[i]));
    }
  }
  if (fill_row_ == fill_from_pool) fill_pool(recipe_, key_);
}

void RandomTensor::fill(int64_t first_row, int64_t rows, std::byte* out) const noexcept {
  const size_t row_bytes = recipe_.format->row_bytes(recipe_.columns);
  for (int64_t r = first_row; r < first_row + rows; ++r, out += row_bytes)
    fill_row_(recipe_, mix(key_, static_cast<uint64_t>(r)), out);
}

}  // namespace ingle
