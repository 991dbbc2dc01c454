#include "models/type_mix.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace ingle {
namespace {

using enum TypeMix::Part;
using enum TypeMix::Which;
using enum DType;

// What the usual files of these names have.
const std::array kMixes = {
    TypeMix{"q2_k",
            10,
            kQ2_K,
            {{kOutput, kAll, kQ6_K},
             {kAttnV, kGrouped, kQ4_K},
             {kAttnV, kAll, kQ3_K},
             {kAttnOutput, kAll, kQ3_K},
             {kFfnDown, kAll, kQ3_K}}},
    TypeMix{"q3_k_s", 11, kQ3_K, {{kOutput, kAll, kQ6_K}}},
    TypeMix{"q3_k_m",
            12,
            kQ3_K,
            {{kOutput, kAll, kQ6_K},
             {kAttnV, kFirst2, kQ5_K},
             {kAttnV, kAll, kQ4_K},
             {kAttnQkv, kAll, kQ4_K},
             {kAttnOutput, kAll, kQ4_K},
             {kFfnDown, kFirst16th, kQ5_K},
             {kFfnDown, kSensitive, kQ4_K}}},
    TypeMix{"q3_k_l",
            13,
            kQ3_K,
            {{kOutput, kAll, kQ6_K},
             {kAttnV, kAll, kQ5_K},
             {kAttnQkv, kAll, kQ4_K},
             {kAttnOutput, kAll, kQ5_K},
             {kFfnDown, kAll, kQ5_K}}},
    TypeMix{"q4_k_s", 14, kQ4_K, {{kOutput, kAll, kQ6_K}, {kAttnV, kFirst4, kQ5_K}, {kFfnDown, kFirst8th, kQ5_K}}},
    TypeMix{
        "q4_k_m",
        15,
        kQ4_K,
        {{kOutput, kAll, kQ6_K}, {kAttnV, kSensitive, kQ6_K}, {kAttnQkv, kAll, kQ5_K}, {kFfnDown, kSensitive, kQ6_K}}},
    TypeMix{"q5_k_s", 16, kQ5_K, {{kOutput, kAll, kQ6_K}}},
    TypeMix{
        "q5_k_m",
        17,
        kQ5_K,
        {{kOutput, kAll, kQ6_K}, {kAttnV, kSensitive, kQ6_K}, {kAttnQkv, kAll, kQ6_K}, {kFfnDown, kSensitive, kQ6_K}}},
    TypeMix{"iq4_xs", 30, kIQ4_XS, {{kOutput, kAll, kQ6_K}, {kAttnV, kGrouped, kQ5_K}, {kFfnDown, kFirst8th, kQ5_K}}},
};

// Of "blk.17.ffn_down.weight"; -1 outside blocks.
int64_t layer_of(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  int64_t layer = -1;
  if (name.starts_with(kBlock)) std::from_chars(name.data() + kBlock.size(), name.data() + name.size(), layer);
  return layer;
}

bool is_part(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

// Where a tensor stands: the how manyth of how many of its part.
struct Place {
  TypeMix::Part part;
  int64_t index, count;
};

bool holds(TypeMix::Which which, const Place& place, bool grouped) {
  const auto [part, i, n] = place;
  switch (which) {
    case kAll:
      return true;
    case kFirst2:
      return i < 2;
    case kFirst4:
      return i < 4;
    case kFirst16th:
      return i < n / 16;
    case kFirst8th:
      return i < n / 8;
    case kSensitive:
      return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    case kGrouped:
      return grouped;
  }
  return false;
}

// Places of a shape's tensors, one after the other. attn_v is counted by itself: not every layer of every model has it.
class Places {
 public:
  explicit Places(const ModelShape& shape) {
    int64_t heads = 0, kv_heads = 0;
    for (const ShapeTensor& tensor : shape.tensors) {
      layers_ = std::max(layers_, layer_of(tensor.name) + 1);
      values_ += is_part(tensor.name, ".attn_v.weight");
      has_output_ |= tensor.name == "output.weight";
      if (is_part(tensor.name, ".attn_q.weight")) heads = tensor.shape.rows();
      if (is_part(tensor.name, ".attn_k.weight")) kv_heads = tensor.shape.rows();
    }
    grouped_ = kv_heads > 0 && heads >= 4 * kv_heads;
  }

  bool grouped() const noexcept { return grouped_; }
  std::optional<Place> next(std::string_view name) {
    const int64_t layer = layer_of(name);
    if (name == (has_output_ ? "output.weight" : "token_embd.weight")) return Place{kOutput, 0, 1};
    if (is_part(name, ".attn_v.weight")) return Place{kAttnV, value_++, values_};
    if (is_part(name, ".attn_qkv.weight")) return Place{kAttnQkv, layer, layers_};
    if (is_part(name, ".attn_output.weight")) return Place{kAttnOutput, layer, layers_};
    if (is_part(name, ".ffn_down")) return Place{kFfnDown, layer, layers_};
    return std::nullopt;
  }

 private:
  int64_t layers_ = 0, values_ = 0, value_ = 0;
  bool has_output_ = false, grouped_ = false;
};

}  // namespace

DType fitting_type(DType type, int64_t columns) {
  if (columns % format_of(type).block_elements == 0) return type;
  const DType narrow = type == kQ4_K                                       ? kQ5_0
                       : type == kQ5_K                                     ? kQ5_1
                       : type == kQ2_K || type == kQ3_K || type == kIQ4_XS ? kIQ4_NL
                                                                           : kQ8_0;
  return columns % format_of(narrow).block_elements == 0 ? narrow : kF16;
}

std::span<const TypeMix> type_mixes() noexcept { return kMixes; }

const TypeMix* find_type_mix(std::string_view name) noexcept {
  const auto found = std::ranges::find(kMixes, name, &TypeMix::name);
  return found == kMixes.end() ? nullptr : &*found;
}

std::vector<DType> mixed_types(const ModelShape& shape, const TypeMix& mix) {
  Places places(shape);
  std::vector<DType> types;
  for (const ShapeTensor& tensor : shape.tensors) {
    if (tensor.storage != ShapeTensor::Storage::kMatrix) {
      types.push_back(storage_type(tensor, mix.most));
      continue;
    }
    DType type = mix.most;
    if (const std::optional<Place> place = places.next(tensor.name)) {
      const auto rule = std::ranges::find_if(mix.rules, [&](const TypeMix::Rule& r) {
        return r.part == place->part && holds(r.which, *place, places.grouped());
      });
      if (rule != mix.rules.end()) type = rule->type;
    }
    types.push_back(fitting_type(type, tensor.shape.columns()));
  }
  return types;
}

}  // namespace ingle
