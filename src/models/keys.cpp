#include "models/keys.h"

#include <cmath>

#include "base/error.h"

namespace ingle {

int64_t Keys::checked(std::string_view key, int64_t value, int64_t least, int64_t most) const {
  if (value < least || value > most) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be from {} to {}", file_.path(), name(key), value,
                least, most);
  }
  return value;
}

int64_t Keys::get(std::string_view key, int64_t least, int64_t most) const {
  return checked(key, file_.get_int(name(key)), least, most);
}

int64_t Keys::find(std::string_view key, int64_t absent, int64_t least, int64_t most) const {
  return checked(key, file_.find_int(name(key)).value_or(absent), least, most);
}

int64_t Keys::find_count(std::string_view key, int64_t absent, int64_t least, int64_t most) const {
  const GgufValue* stored = file_.find_value(name(key));
  if (stored == nullptr || !std::holds_alternative<double>(stored->value)) return find(key, absent, least, most);
  const double value = std::get<double>(stored->value);
  if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value)) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be a whole number from {} to {}", file_.path(),
                name(key), value, least, most);
  }
  return static_cast<int64_t>(value);
}

double Keys::positive(std::string_view key, double value, double most) const {
  if (!(value > 0 && value <= most)) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be above 0 and at most {}", file_.path(),
                name(key), value, most);
  }
  return value;
}

std::vector<int64_t> Keys::per_layer(std::string_view key, int64_t layers, int64_t least, int64_t most) const {
  const GgufValue* value = file_.find_value(name(key));
  if (value == nullptr || value->type != GgufValue::Type::kArray)
    return std::vector<int64_t>(static_cast<size_t>(layers), get(key, least, most));
  std::vector<int64_t> all = *file_.find_ints(name(key));
  if (static_cast<int64_t>(all.size()) != layers) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' has {} elements, the model has {} blocks", file_.path(),
                name(key), all.size(), layers);
  }
  for (int64_t element : all) checked(key, element, least, most);
  return all;
}

}  // namespace ingle
