#include "tensor/tensor.h"

#include <fmt/ranges.h>

namespace ingle {

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.extent.begin(), shape.extent.begin() + shape.rank, ", "));
}

}  // namespace ingle
