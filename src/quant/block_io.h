// How every format walks a row: copy a block out of (or into) bytes of any alignment, hand it to the format's own code.
// Multi-byte fields are little-endian in the file and are read as they lie, so the host must be little-endian too.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "quant/format.h"

namespace ingle {

static_assert(std::endian::native == std::endian::little, "blocks are little-endian and read as they lie");

// unpack(block, y) writes Block::kElements floats to y.
template <class Block, class Unpack>
void decode_blocks(const std::byte* src, float* dst, int64_t n, Unpack unpack) noexcept {
  for (int64_t i = 0; i < n; i += Block::kElements, src += sizeof(Block)) {
    Block block;
    std::memcpy(&block, src, sizeof(Block));
    unpack(block, dst + i);
  }
}

// pack(x, w, block) fills a zeroed block from Block::kElements floats at x; w is nullptr or as many weights.
template <class Block, class Pack>
void encode_blocks(const float* src, std::byte* dst, int64_t n, const float* importance, Pack pack) noexcept {
  for (int64_t i = 0; i < n; i += Block::kElements, dst += sizeof(Block)) {
    Block block{};
    pack(src + i, importance != nullptr ? importance + i : nullptr, block);
    std::memcpy(dst, &block, sizeof(Block));
  }
}

// The row in the table of formats of one whose blocks are Blocks; without an encoder it cannot be written.
template <class Block>
Format block_format(DType type, std::string_view name, decltype(Format::decode) decode,
                    decltype(Format::encode) encode = nullptr) noexcept {
  return {type, name, Block::kElements, sizeof(Block), decode, encode, nullptr};
}

// The same for a format that is read as codes: kRead(block, group, codes).
template <class Block, void (*kRead)(const Block&, int, Codes&) noexcept>
Format coded_format(DType type, std::string_view name, decltype(Format::encode) encode = nullptr) noexcept {
  static_assert(Block::kElements % 32 == 0 && alignof(Block) <= 2);
  const auto decode = [](const std::byte* src, float* dst, int64_t n) noexcept {
    decode_blocks<Block>(src, dst, n, [](const Block& block, float* y) {
      for (int group = 0; group < Block::kElements / 32; ++group) {
        Codes codes;
        kRead(block, group, codes);
        for (int i = 0; i < 32; ++i) y[32 * group + i] = codes.scale[i / 16] * static_cast<float>(codes.q[i]);
      }
    });
  };
  const auto read = [](const std::byte* block, int group, Codes& codes) noexcept {
    kRead(*reinterpret_cast<const Block*>(block), group, codes);
  };
  return {type, name, Block::kElements, sizeof(Block), decode, encode, read};
}

// The low and the high half of a byte.
inline int lo(uint8_t b) noexcept { return b & 15; }
inline int hi(uint8_t b) noexcept { return b >> 4; }

// x cut to [low, high]; NaN becomes low. Two instructions without a branch, which the searches live on.
inline float cut(float x, int low, int high) noexcept {
  const float floor = static_cast<float>(low);
  const float ceiling = static_cast<float>(high);
  x = x > floor ? x : floor;
  return x < ceiling ? x : ceiling;
}

// Float to int without undefined behaviour: what does not fit is cut to [low, high], NaN becomes low.
inline int truncated(float x, int low, int high) noexcept { return static_cast<int>(cut(x, low, high)); }

// Half to even, by the float adder: exact for numbers below 2^22, and low and high are.
inline int nearest(float x, int low, int high) noexcept {
  return static_cast<int>(std::bit_cast<uint32_t>(cut(x, low, high) + 12582912.0f) & 0x7fffff) - 0x400000;
}

// The same, still a float.
inline float nearest_float(float x, int low, int high) noexcept {
  return cut(x, low, high) + 12582912.0f - 12582912.0f;
}

// Half away from zero.
inline int rounded(float x, int low, int high) noexcept { return truncated(std::round(x), low, high); }

}  // namespace ingle
