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

// Values are few, and what they lose is lost for every head that shares them.
const std::vector<TypeMix::Rule> kRulesOf2Bits = {
    {kOutput, kAll, kQ5_K},   {kTokenEmbd, kAll, kIQ3_S},  {kAttnV, kGrouped, kQ4_K},    {kAttnV, kAll, kIQ3_S},
    {kAttnQkv, kAll, kIQ3_S}, {kAttnOutput, kAll, kIQ3_S}, {kFfnDown, kFirst8th, kIQ3_S}};
const std::vector<TypeMix::Rule> kRulesBelow2Bits = {{kOutput, kAll, kQ5_K},    {kTokenEmbd, kAll, kQ2_K},
                                                     {kAttnV, kGrouped, kQ4_K}, {kAttnV, kAll, kQ2_K},
                                                     {kAttnQkv, kAll, kQ2_K},   {kFfnDown, kFirst8th, kQ2_K}};
const std::vector<TypeMix::Rule> kRulesOf1Bit = {
    {kOutput, kAll, kQ5_K},  {kTokenEmbd, kAll, kQ2_K},     {kAttnV, kGrouped, kQ4_K},   {kAttnV, kAll, kQ2_K},
    {kAttnQkv, kAll, kQ2_K}, {kAttnOutput, kAll, kIQ2_XXS}, {kFfnDown, kFirst8th, kQ2_K}};

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
             {kFfnDown, kAll, kQ4_K}}},
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
    TypeMix{"q2_k_s", 21, kQ2_K, {{kOutput, kAll, kQ6_K}, {kAttnV, kGrouped, kQ4_K}, {kFfnDown, kFirst8th, kQ4_K}}},
    TypeMix{"iq3_m",
            27,
            kIQ3_S,
            {{kOutput, kAll, kQ6_K},
             {kAttnV, kAll, kQ4_K},
             {kAttnQkv, kAll, kQ4_K},
             {kAttnOutput, kAll, kQ4_K},
             {kFfnDown, kFirst8th, kQ4_K}}},
    TypeMix{"iq3_s", 26, kIQ3_S, {{kOutput, kAll, kQ6_K}, {kAttnV, kGrouped, kQ4_K}}},
    TypeMix{"iq3_xs",
            22,
            kIQ3_S,
            {{kOutput, kAll, kQ6_K},
             {kAttnV, kGrouped, kQ4_K},
             {kAttnQ, kAll, kIQ3_XXS},
             {kAttnK, kAll, kIQ3_XXS},
             {kFfnGateUp, kMiddle, kIQ3_XXS}}},
    TypeMix{"iq3_xxs",
            23,
            kIQ3_XXS,
            {{kOutput, kAll, kQ5_K},
             {kTokenEmbd, kAll, kIQ3_S},
             {kAttnV, kGrouped, kQ4_K},
             {kAttnQ, kAll, kIQ2_S},
             {kAttnK, kAll, kIQ2_S},
             {kAttnOutput, kAll, kIQ3_S}}},
    TypeMix{"iq2_m", 29, kIQ2_S, kRulesOf2Bits},
    TypeMix{"iq2_s", 28, kIQ2_XS, kRulesOf2Bits},
    TypeMix{"iq2_xs", 20, kIQ2_XS, kRulesBelow2Bits},
    TypeMix{"iq2_xxs", 19, kIQ2_XXS, kRulesBelow2Bits},
    TypeMix{"iq1_m", 31, kIQ1_M, kRulesOf1Bit},
    TypeMix{"iq1_s", 24, kIQ1_S, kRulesOf1Bit},
    TypeMix{"tq1_0", 36, kTQ1_0, {{kOutput, kAll, kQ6_K}, {kTokenEmbd, kAll, kQ4_K}}},
    TypeMix{"tq2_0", 37, kTQ2_0, {{kOutput, kAll, kQ6_K}, {kTokenEmbd, kAll, kQ4_K}}},
    TypeMix{"mxfp4_moe", 38, kQ8_0, {{kFfnGateUp, kStacked, kMXFP4}, {kFfnDown, kStacked, kMXFP4}}},
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
  bool stacked = false;
};

bool holds(TypeMix::Which which, const Place& place, bool grouped) {
  const int64_t i = place.index, n = place.count;
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
    case kMiddle:
      return i >= n / 8 && i < 7 * n / 8;
    case kGrouped:
      return grouped;
    case kStacked:
      return place.stacked;
  }
  return false;
}

// Places of a shape's tensors, in whatever order they come. attn_v is counted by itself: not every layer of every model
// has it.
class Places {
 public:
  explicit Places(const ModelShape& shape) {
    int64_t heads = 0, kv_heads = 0;
    for (const ShapeTensor& tensor : shape.tensors) {
      layers_ = std::max(layers_, layer_of(tensor.name) + 1);
      if (is_part(tensor.name, ".attn_v.weight")) value_layers_.push_back(layer_of(tensor.name));
      has_output_ |= tensor.name == "output.weight";
      if (is_part(tensor.name, ".attn_q.weight")) heads = tensor.shape.rows();
      if (is_part(tensor.name, ".attn_k.weight")) kv_heads = tensor.shape.rows();
    }
    std::ranges::sort(value_layers_);
    grouped_ = kv_heads > 0 && heads >= 4 * kv_heads;
  }

  bool grouped() const noexcept { return grouped_; }
  std::optional<Place> of(const ShapeTensor& tensor) const {
    const std::string_view name = tensor.name;
    const int64_t layer = layer_of(name);
    const bool stacked = tensor.shape.rank > 2;
    if (name == (has_output_ ? "output.weight" : "token_embd.weight")) return Place{kOutput, 0, 1};
    if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Place{kTokenEmbd, 0, 1};
    if (is_part(name, ".attn_q.weight")) return Place{kAttnQ, layer, layers_};
    if (is_part(name, ".attn_k.weight")) return Place{kAttnK, layer, layers_};
    if (is_part(name, ".attn_v.weight")) return value_place(layer);
    if (is_part(name, ".attn_qkv.weight")) return Place{kAttnQkv, layer, layers_};
    if (is_part(name, ".attn_output.weight")) return Place{kAttnOutput, layer, layers_};
    if (is_part(name, ".ffn_gate") || is_part(name, ".ffn_up")) return Place{kFfnGateUp, layer, layers_, stacked};
    if (is_part(name, ".ffn_down")) return Place{kFfnDown, layer, layers_, stacked};
    return std::nullopt;
  }

 private:
  Place value_place(int64_t layer) const {
    const auto before = std::ranges::lower_bound(value_layers_, layer);
    return {kAttnV, before - value_layers_.begin(), std::ssize(value_layers_)};
  }

  int64_t layers_ = 0;
  std::vector<int64_t> value_layers_;
  bool has_output_ = false, grouped_ = false;
};

}  // namespace

bool wants_importance(DType type) noexcept {
  constexpr DType kFewBits[] = {kIQ1_S, kIQ1_M, kIQ2_XXS, kIQ2_XS, kIQ2_S, kIQ3_XXS};
  return std::ranges::count(kFewBits, type) > 0;
}

DType fitting_type(DType type, int64_t columns) {
  if (columns % format_of(type).block_elements == 0) return type;
  const auto narrow_for = [](DType wide) {
    switch (wide) {
      case kQ4_K:
        return kQ5_0;
      case kQ5_K:
        return kQ5_1;
      case kTQ1_0:
      case kTQ2_0:
      case kQ1_0:
      case kQ2_0:
        return kQ4_0;
      case kQ2_K:
      case kQ3_K:
      case kIQ1_S:
      case kIQ1_M:
      case kIQ2_XXS:
      case kIQ2_XS:
      case kIQ2_S:
      case kIQ3_XXS:
      case kIQ3_S:
      case kIQ4_XS:
        return kIQ4_NL;
      default:
        return kQ8_0;
    }
  };
  const DType narrow = narrow_for(type);
  return columns % format_of(narrow).block_elements == 0 ? narrow : kF16;
}

std::span<const TypeMix> type_mixes() noexcept { return kMixes; }

const TypeMix* find_type_mix(std::string_view name) noexcept {
  const auto found = std::ranges::find(kMixes, name, &TypeMix::name);
  return found == kMixes.end() ? nullptr : &*found;
}

std::vector<DType> mixed_types(const ModelShape& shape, const TypeMix& mix) {
  const Places places(shape);
  std::vector<DType> types;
  for (const ShapeTensor& tensor : shape.tensors) {
    if (tensor.storage != ShapeTensor::Storage::kMatrix) {
      types.push_back(storage_type(tensor, mix.most));
      continue;
    }
    DType type = mix.most;
    if (const std::optional<Place> place = places.of(tensor)) {
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
