#include "gguf/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ingle::gguf {

std::string describe_type(const GgufValue& value) {
  if (value.type != GgufValue::Type::kArray) return std::string(type_name(value.type));
  return fmt::format("array of {}", type_name(value.element_type));
}

TensorExtent tensor_extent(const Shape& shape, const Format& format) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < 0) return {0, fmt::format("extent {} in {} is negative", shape[i], to_string(shape))};
  }
  const int64_t columns = shape.columns();
  if (columns % format.block_elements != 0) {
    return {0, fmt::format("rows of {} elements are not whole blocks of {} ({})", columns, format.block_elements,
                           format.name)};
  }
  // With zeros counted as ones the products bound every product of the real extents, in any order.
  int64_t elements = 1;
  for (int i = 0; i < shape.rank; ++i) {
    const int64_t extent = std::max<int64_t>(shape[i], 1);
    if (extent > kMax / elements) return {0, fmt::format("shape {} has more than 2^63 elements", to_string(shape))};
    elements *= extent;
  }
  const int64_t blocks =
      elements / std::max<int64_t>(columns, 1) * std::max<int64_t>(columns / format.block_elements, 1);
  if (blocks > kMax / static_cast<int64_t>(format.block_bytes)) {
    return {0, fmt::format("shape {} of {} has more than 2^63 bytes", to_string(shape), format.name)};
  }
  const bool is_empty = shape.elements() == 0;
  return {is_empty ? 0 : static_cast<uint64_t>(blocks) * format.block_bytes, {}};
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 80;
  std::string result = "'";
  for (const char c : text.substr(0, kShown)) {
    if (c >= 0x20 && c <= 0x7e && c != '\'' && c != '\\') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kShown) result += "...";
  return result + "'";
}

}  // namespace ingle::gguf
