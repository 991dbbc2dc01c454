#include "models/type_mix.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ingle {
namespace {

constexpr std::array kMixes = {
    TypeMix{"q4_k_m", DType::kQ4_K, DType::kQ6_K},
};

// The first and the last eighth of the layers, and every third of those between.
bool matters(int64_t layer, int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

// Of "blk.17.ffn_down.weight"; -1 outside blocks.
int64_t layer_of(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  int64_t layer = -1;
  if (name.starts_with(kBlock)) std::from_chars(name.data() + kBlock.size(), name.data() + name.size(), layer);
  return layer;
}

bool is_part(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

DType fitting(DType type, int64_t columns) {
  if (columns % format_of(type).block_elements == 0) return type;
  const DType narrow = type == DType::kQ4_K ? DType::kQ5_0 : DType::kQ8_0;
  return columns % format_of(narrow).block_elements == 0 ? narrow : DType::kF16;
}

}  // namespace

std::span<const TypeMix> type_mixes() noexcept { return kMixes; }

const TypeMix* find_type_mix(std::string_view name) noexcept {
  const auto found = std::ranges::find(kMixes, name, &TypeMix::name);
  return found == kMixes.end() ? nullptr : &*found;
}

std::vector<DType> mixed_types(const ModelShape& shape, const TypeMix& mix) {
  int64_t layers = 0, values = 0;  // attn_v is counted by itself: not every layer of every model has it
  bool has_output = false;
  for (const ShapeTensor& tensor : shape.tensors) {
    layers = std::max(layers, layer_of(tensor.name) + 1);
    values += is_part(tensor.name, ".attn_v.");
    has_output |= tensor.name == "output.weight";
  }
  std::vector<DType> types;
  int64_t value = 0;
  for (const ShapeTensor& tensor : shape.tensors) {
    if (tensor.storage != ShapeTensor::Storage::kMatrix) {
      types.push_back(storage_type(tensor, mix.most));
      continue;
    }
    const bool better = tensor.name == (has_output ? "output.weight" : "token_embd.weight") ||
                        (is_part(tensor.name, ".attn_v.") && matters(value++, values)) ||
                        (is_part(tensor.name, ".ffn_down") && matters(layer_of(tensor.name), layers));
    types.push_back(fitting(better ? mix.better : mix.most, tensor.shape.columns()));
  }
  return types;
}

}  // namespace ingle
