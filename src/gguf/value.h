// From C++ types to metadata values: gguf_value<uint32_t>(2) and gguf_array<float>({0.5f, 1.0f}) are what the reader
// would return for a u32 and an array of f32.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gguf/gguf.h"

namespace ingle {

// The types a metadata value or an array element can have in the file; std::string for text.
template <class T>
concept GgufElement = std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t> || std::is_same_v<T, uint16_t> ||
    std::is_same_v<T, int16_t> || std::is_same_v<T, uint32_t> || std::is_same_v<T, int32_t> ||
    std::is_same_v<T, uint64_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, float> ||
    std::is_same_v<T, double> || std::is_same_v<T, bool> || std::is_same_v<T, std::string>;

namespace gguf {

template <class T>
constexpr GgufValue::Type type_of() {
  using enum GgufValue::Type;
  if constexpr (std::is_same_v<T, bool>) return kBool;
  if constexpr (std::is_same_v<T, std::string>) return kString;
  if constexpr (std::is_same_v<T, float>) return kF32;
  if constexpr (std::is_same_v<T, double>) return kF64;
  if constexpr (std::is_integral_v<T>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return kSigned ? kI8 : kU8;
    if constexpr (sizeof(T) == 2) return kSigned ? kI16 : kU16;
    if constexpr (sizeof(T) == 4) return kSigned ? kI32 : kU32;
    if constexpr (sizeof(T) == 8) return kSigned ? kI64 : kU64;
  }
}

// What GgufValue::Array keeps an element of type T as; a scalar is kept the same way, but for bool.
template <class T>
using Widened = std::conditional_t<std::is_same_v<T, std::string>, std::string,
                                   std::conditional_t<std::is_floating_point_v<T>, double,
                                                      std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>;

}  // namespace gguf

template <GgufElement T>
GgufValue gguf_value(T value) {
  GgufValue result;
  result.type = gguf::type_of<T>();
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    result.value = std::move(value);
  } else {
    result.value = static_cast<gguf::Widened<T>>(value);
  }
  return result;
}

template <GgufElement T>
GgufValue gguf_array(const std::vector<T>& elements) {
  return {.type = GgufValue::Type::kArray,
          .element_type = gguf::type_of<T>(),
          .value = GgufValue::Array(std::vector<gguf::Widened<T>>(elements.begin(), elements.end()))};
}

}  // namespace ingle
