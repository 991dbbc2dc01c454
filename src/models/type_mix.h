// Types of a file's tensors where some get more bits than others, by the names that such files go by.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/shapes.h"

namespace ingle {

struct TypeMix {
  std::string_view name;  // "q4_k_m"
  DType most;             // what most matrices have
  DType better;           // what those have whose rounding shows most
};

std::span<const TypeMix> type_mixes() noexcept;
const TypeMix* find_type_mix(std::string_view name) noexcept;  // nullptr: there is none of this name

// For each tensor of the shape. Rows that are not whole blocks of a type get the next one of blocks of 32.
std::vector<DType> mixed_types(const ModelShape& shape, const TypeMix& mix);

}  // namespace ingle
