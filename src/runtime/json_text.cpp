#include "runtime/json_text.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <cmath>

#include "text/tokenizer.h"

namespace ingle {
namespace {

namespace json = boost::json;

constexpr size_t kShownElements = 8;
constexpr size_t kShownBytes = 400;

// Files promise UTF-8 and do not always keep it; JSON must. The cut falls between characters.
std::string shown_text(const std::string& text) {
  std::string cut = text.size() > kShownBytes ? text.substr(0, kShownBytes) : text;
  while (text.size() > kShownBytes && !cut.empty() && (static_cast<unsigned char>(text[cut.size()]) & 0xC0) == 0x80)
    cut.pop_back();
  StreamingDecoder decoder;
  std::string valid = decoder.push(cut);
  valid += decoder.finish();
  if (cut.size() < text.size()) valid += "...";
  return valid;
}

// The shortest text that reads back as the same number; JSON has no infinities.
json::value number(double x, bool single) {
  if (!std::isfinite(x)) return json::string(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
  if (!single) return x;
  return json::parse(fmt::format("{}", static_cast<float>(x)));
}

template <class T>
json::array shown_elements(const std::vector<T>& all, GgufValue::Type type) {
  json::array shown;
  for (size_t i = 0; i < all.size() && i < kShownElements; ++i) {
    if constexpr (std::is_same_v<T, std::string>) {
      shown.push_back(json::string(shown_text(all[i])));
    } else if constexpr (std::is_same_v<T, double>) {
      shown.push_back(number(all[i], type == GgufValue::Type::kF32));
    } else if (type == GgufValue::Type::kBool) {
      shown.push_back(json::value(all[i] != 0));
    } else {
      shown.push_back(json::value(all[i]));
    }
  }
  if (all.size() > kShownElements) shown.push_back("...");
  return shown;
}

std::string_view type_name(GgufValue::Type type) noexcept {
  constexpr std::array<std::string_view, 13> kNames{"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                                    "bool", "str", "arr", "u64", "i64", "f64"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace

std::string type_text(const GgufValue& value) {
  if (value.type != GgufValue::Type::kArray) return std::string(type_name(value.type));
  return fmt::format("arr[{}]", type_name(value.element_type));
}

int64_t element_count(const GgufValue& value) {
  if (const auto* array = std::get_if<GgufValue::Array>(&value.value))
    return std::visit([](const auto& all) { return static_cast<int64_t>(all.size()); }, *array);
  if (const auto* text = std::get_if<std::string>(&value.value)) return static_cast<int64_t>(text->size());
  return 1;
}

std::string json_text(const GgufValue& value) {
  const auto to_json = [&](const auto& v) -> json::value {
    using T = std::remove_cvref_t<decltype(v)>;
    if constexpr (std::is_same_v<T, GgufValue::Array>) {
      return std::visit([&](const auto& all) { return json::value(shown_elements(all, value.element_type)); }, v);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return json::value(shown_text(v));
    } else if constexpr (std::is_same_v<T, double>) {
      return number(v, value.type == GgufValue::Type::kF32);
    } else {
      return json::value(v);
    }
  };
  return json::serialize(std::visit(to_json, value.value));
}

}  // namespace ingle
