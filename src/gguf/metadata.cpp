// Reading metadata by kind: converters choose integer widths freely, so a width never matters, and a kind always does.
#include <limits>

#include "base/error.h"
#include "gguf/gguf.h"
#include "gguf/layout.h"

namespace ingle {
namespace {

using gguf::describe_type;
using gguf::is_float;
using gguf::is_signed;
using gguf::is_unsigned;
using Type = GgufValue::Type;

// Carried along for the message of whatever goes wrong.
struct Key {
  const GgufFile& file;
  std::string_view name;

  [[noreturn]] void throw_kind(std::string_view expected, const GgufValue& value) const {
    throw_error(ErrorCode::kInvalidFile, "{}: key {} is {}, it must be {}", file.path(), gguf::in_quotes(name),
                describe_type(value), expected);
  }

  int64_t to_int64(uint64_t value) const {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw_error(ErrorCode::kInvalidFile, "{}: key {} holds {}, which is more than 2^63 - 1", file.path(),
                  gguf::in_quotes(name), value);
    }
    return static_cast<int64_t>(value);
  }
};

const GgufValue::Array* find_array(const Key& key, const GgufValue& value, std::string_view expected) {
  if (value.type != Type::kArray) key.throw_kind(expected, value);
  return &std::get<GgufValue::Array>(value.value);
}

template <class Value>
Value require(const Key& key, const std::optional<Value>& value) {
  if (!value) throw_error(ErrorCode::kInvalidFile, "{}: key {} is missing", key.file.path(), gguf::in_quotes(key.name));
  return *value;
}

}  // namespace

std::optional<int64_t> GgufFile::find_int(std::string_view name) const {
  const Key key{*this, name};
  const GgufValue* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  if (is_signed(value->type)) return std::get<int64_t>(value->value);
  if (!is_unsigned(value->type)) key.throw_kind("an integer", *value);
  return key.to_int64(std::get<uint64_t>(value->value));
}

std::optional<double> GgufFile::find_float(std::string_view name) const {
  const GgufValue* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  if (!is_float(value->type)) Key{*this, name}.throw_kind("f32 or f64", *value);
  return std::get<double>(value->value);
}

std::optional<bool> GgufFile::find_bool(std::string_view name) const {
  const GgufValue* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  if (value->type != Type::kBool) Key{*this, name}.throw_kind("bool", *value);
  return std::get<bool>(value->value);
}

std::optional<std::string_view> GgufFile::find_string(std::string_view name) const {
  const GgufValue* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  if (value->type != Type::kString) Key{*this, name}.throw_kind("string", *value);
  return std::get<std::string>(value->value);
}

std::optional<std::vector<int64_t>> GgufFile::find_ints(std::string_view name) const {
  const Key key{*this, name};
  const GgufValue* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  const auto* array = find_array(key, *value, "an array of integers");
  if (const auto* signed_ints = std::get_if<std::vector<int64_t>>(array)) return *signed_ints;
  const auto* unsigned_ints = std::get_if<std::vector<uint64_t>>(array);
  if (unsigned_ints == nullptr) key.throw_kind("an array of integers", *value);
  std::vector<int64_t> result;
  result.reserve(unsigned_ints->size());
  for (const uint64_t element : *unsigned_ints) result.push_back(key.to_int64(element));
  return result;
}

std::optional<std::vector<double>> GgufFile::find_floats(std::string_view name) const {
  const Key key{*this, name};
  const GgufValue* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  const auto* array = find_array(key, *value, "an array of numbers");
  if (value->element_type == Type::kBool) key.throw_kind("an array of numbers", *value);
  return std::visit(
      [&]<class T>(const std::vector<T>& elements) -> std::vector<double> {
        if constexpr (std::is_same_v<T, std::string>) {
          key.throw_kind("an array of numbers", *value);
        } else {
          return {elements.begin(), elements.end()};
        }
      },
      *array);
}

std::optional<std::span<const std::string>> GgufFile::find_strings(std::string_view name) const {
  const Key key{*this, name};
  const GgufValue* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  const auto* array = find_array(key, *value, "an array of strings");
  const auto* strings = std::get_if<std::vector<std::string>>(array);
  if (strings == nullptr) key.throw_kind("an array of strings", *value);
  return *strings;
}

int64_t GgufFile::get_int(std::string_view name) const { return require(Key{*this, name}, find_int(name)); }
double GgufFile::get_float(std::string_view name) const { return require(Key{*this, name}, find_float(name)); }
std::string_view GgufFile::get_string(std::string_view name) const {
  return require(Key{*this, name}, find_string(name));
}

}  // namespace ingle
