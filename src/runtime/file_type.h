// general.file_type: what most tensors of a file have, as a number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "quant/dtype.h"

namespace ingle {

inline uint32_t file_type_number(DType type) {
  constexpr std::pair<DType, uint32_t> kNumbers[] = {
      {DType::kF32, 0},     {DType::kF16, 1},     {DType::kQ4_0, 2},  {DType::kQ4_1, 3},
      {DType::kQ8_0, 7},    {DType::kQ5_0, 8},    {DType::kQ5_1, 9},  {DType::kQ2_K, 10},
      {DType::kQ3_K, 12},   {DType::kQ4_K, 15},   {DType::kQ5_K, 17}, {DType::kQ6_K, 18},
      {DType::kIQ4_NL, 25}, {DType::kIQ4_XS, 30}, {DType::kBF16, 32}, {DType::kMXFP4, 38}};
  const auto* found = std::ranges::find(kNumbers, type, &std::pair<DType, uint32_t>::first);
  return found == std::end(kNumbers) ? 0 : found->second;
}

}  // namespace ingle
