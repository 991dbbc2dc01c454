// Facts of the GGUF container that reader and writer share: magic, value types, limits, how large a tensor is.
//
//   "GGUF"  u32 version  u64 n_tensors  u64 n_kv                          24 bytes, all integers little-endian
//   n_kv      x  string key, u32 value type, value                        string: u64 length, bytes
//   n_tensors x  string name, u32 rank, rank x u64 extent (innermost first), u32 tensor type, u64 offset
//   zeros up to the alignment, then tensor data; an offset counts from here, each tensor starts aligned
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "gguf/gguf.h"
#include "gguf/value.h"
#include "quant/format.h"

namespace ingle::gguf {

inline constexpr std::string_view kMagic = "GGUF";
inline constexpr size_t kHeaderBytes = 24;
inline constexpr uint32_t kOldestVersion = 2;
inline constexpr uint32_t kNewestVersion = 3;

inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr uint32_t kDefaultAlignment = 32;
inline constexpr uint32_t kSmallestAlignment = 8;

inline constexpr std::string_view kSplitNoKey = "split.no";                  // u16, from 0
inline constexpr std::string_view kSplitCountKey = "split.count";            // u16
inline constexpr std::string_view kSplitTensorsKey = "split.tensors.count";  // i32, of all shards

inline constexpr size_t kMaxKeyBytes = 65535;
inline constexpr size_t kMaxTensorNameBytes = 63;
inline constexpr uint64_t kMaxStringBytes = uint64_t{1} << 30;
inline constexpr uint32_t kMaxRank = 4;

inline constexpr uint32_t kValueTypes = 13;

// Bytes of a scalar in the file; 0 for strings and arrays.
constexpr size_t scalar_bytes(GgufValue::Type type) noexcept {
  constexpr std::array<uint8_t, kValueTypes> kBytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[static_cast<size_t>(type)];
}

// "u32", "array".
constexpr std::string_view type_name(GgufValue::Type type) noexcept {
  constexpr std::array<std::string_view, kValueTypes> kNames{"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                             "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<size_t>(type)];
}

// "u32", "array of string".
std::string describe_type(const GgufValue& value);

// The C++ type that holds a scalar of this type in the file, by a call of f.operator()<T>(); bool is one byte there, 0
// or 1. For the scalar types only.
template <class F>
decltype(auto) with_scalar_type(GgufValue::Type type, F&& f) {
  using enum GgufValue::Type;
  switch (type) {
    case kU8:
      return f.template operator()<uint8_t>();
    case kI8:
      return f.template operator()<int8_t>();
    case kU16:
      return f.template operator()<uint16_t>();
    case kI16:
      return f.template operator()<int16_t>();
    case kU32:
      return f.template operator()<uint32_t>();
    case kI32:
      return f.template operator()<int32_t>();
    case kF32:
      return f.template operator()<float>();
    case kBool:
      return f.template operator()<bool>();
    case kU64:
      return f.template operator()<uint64_t>();
    case kI64:
      return f.template operator()<int64_t>();
    case kF64:
      return f.template operator()<double>();
    case kString:
    case kArray:
      break;
  }
  throw_error(ErrorCode::kInternal, "{} is not a scalar type", type_name(type));
}

constexpr bool is_unsigned(GgufValue::Type type) noexcept {
  using enum GgufValue::Type;
  return type == kU8 || type == kU16 || type == kU32 || type == kU64;
}
constexpr bool is_signed(GgufValue::Type type) noexcept {
  using enum GgufValue::Type;
  return type == kI8 || type == kI16 || type == kI32 || type == kI64;
}
constexpr bool is_float(GgufValue::Type type) noexcept {
  return type == GgufValue::Type::kF32 || type == GgufValue::Type::kF64;
}

constexpr bool is_valid_alignment(uint64_t alignment) noexcept {
  return alignment >= kSmallestAlignment && alignment <= uint64_t{1} << 31 && (alignment & (alignment - 1)) == 0;
}

// `offset` below 2^63, alignment a power of two up to 2^31: cannot wrap.
constexpr uint64_t align_up(uint64_t offset, uint64_t alignment) noexcept {
  return (offset + alignment - 1) & ~(alignment - 1);
}

// Bytes of a tensor, or why there can be no such tensor ("" when there can).
struct TensorExtent {
  uint64_t bytes = 0;
  std::string problem;
};
// Every extent is checked, also where another is 0: nothing computed from the shape later can overflow 63 bits.
TensorExtent tensor_extent(const Shape& shape, const Format& format);

// Names from a file as a message can show them: in quotes, anything but printable ASCII as \xNN, shortened when long.
std::string in_quotes(std::string_view text);

}  // namespace ingle::gguf
