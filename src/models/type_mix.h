// Types of a file's tensors where some get more bits than others, by the names that such files go by.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/shapes.h"

namespace ingle {

struct TypeMix {
  enum class Part { kOutput, kTokenEmbd, kAttnQ, kAttnK, kAttnV, kAttnQkv, kAttnOutput, kFfnGateUp, kFfnDown };
  // Of the tensors of one part, in the order of their layers.
  enum class Which {
    kAll,
    kFirst2,
    kFirst4,
    kFirst16th,
    kFirst8th,
    kSensitive,  // the first and the last eighth, and every third of those between
    kMiddle,     // all but the first and the last eighth
    kGrouped,    // all, where at least four heads share keys and values
    kStacked,    // those of several matrices: experts
  };
  struct Rule {
    Part part;
    Which which;
    DType type;
  };

  std::string_view name;    // "q4_k_m"
  uint32_t file_type;       // general.file_type
  DType most;               // what most matrices have
  std::vector<Rule> rules;  // those that get something else; the first that fits counts
};

std::span<const TypeMix> type_mixes() noexcept;
const TypeMix* find_type_mix(std::string_view name) noexcept;  // nullptr: there is none of this name

// For each tensor of the shape. Rows that are not whole blocks of a type get the next one of blocks of 32.
std::vector<DType> mixed_types(const ModelShape& shape, const TypeMix& mix);

// Whether files of the type are usable only when importance steered the rounding.
bool wants_importance(DType type) noexcept;

// `type`, or where rows of `columns` are not whole blocks of it, the next one of blocks of 32, or f16.
DType fitting_type(DType type, int64_t columns);

}  // namespace ingle
