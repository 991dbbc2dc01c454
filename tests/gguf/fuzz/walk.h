// Reads everything a parsed file hands out, so that a sanitizer sees every byte that a caller could reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "gguf/gguf.h"
#include "ingle/error.h"

namespace ingle::test {

template <class T>
uint64_t sum_of(const T& value) {
  if constexpr (std::is_same_v<T, GgufValue::Array>) {
    return std::visit([](const auto& elements) { return sum_of(elements); }, value);
  } else if constexpr (std::is_same_v<T, double>) {
    return value > 0 ? 1 : 0;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<uint64_t>(value);
  } else {
    uint64_t sum = 0;
    for (const auto& element : value) sum += sum_of(element);
    return sum;
  }
}

// The accessors may refuse a value of another kind, but in no other way.
template <class Find>
void call_accessor(Find find) {
  try {
    find();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidFile) throw;
  }
}

// A number that depends on all keys, values, names and shapes, and on the first and last byte of every tensor.
inline uint64_t walk(const GgufFile& file) {
  uint64_t sum = file.version() + file.alignment() + file.file_bytes();
  for (const auto& record : file.metadata()) {
    const std::string& key = record.first;
    const GgufValue& value = record.second;
    sum += sum_of(key) + std::visit([](const auto& v) { return sum_of(v); }, value.value);
    if (file.find_value(key) != &value) throw Error(ErrorCode::kInternal, "a key does not lead to its value");
    call_accessor([&] { file.find_int(key); });
    call_accessor([&] { file.find_float(key); });
    call_accessor([&] { file.find_bool(key); });
    call_accessor([&] { file.find_string(key); });
    call_accessor([&] { file.find_ints(key); });
    call_accessor([&] { file.find_floats(key); });
    call_accessor([&] { file.find_strings(key); });
  }
  int64_t elements = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    const auto view = file.find(tensor.name);
    if (!view || view->data != tensor.view.data)
      throw Error(ErrorCode::kInternal, "a name does not lead to its tensor");
    elements += view->shape.elements();
    sum += sum_of(tensor.name);
    if (view->bytes() == 0) continue;
    sum += static_cast<uint64_t>(view->data[0]) + static_cast<uint64_t>(view->data[view->bytes() - 1]);
    sum += static_cast<uint64_t>(*view->row(view->shape.rows() - 1));
  }
  if (elements != file.parameter_count()) throw Error(ErrorCode::kInternal, "the elements do not add up");
  return sum;
}

}  // namespace ingle::test
