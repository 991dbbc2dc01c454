// Every family of models that can be converted, one line each.
#include "convert/family.h"

namespace ingle {

std::span<const HfFamily> bert_families();
std::span<const HfFamily> llama_families();
std::span<const HfFamily> gemma4_families();
std::span<const HfFamily> gemma3n_families();
std::span<const HfFamily> gpt_oss_families();
std::span<const HfFamily> deepseek_families();

namespace {

constexpr std::span<const HfFamily> (*kFamilies[])() = {
    llama_families, gemma4_families, gemma3n_families, gpt_oss_families, deepseek_families, bert_families,
};

}  // namespace

const HfFamily* find_hf_family(std::string_view name) {
  for (const auto family : kFamilies)
    for (const HfFamily& row : family())
      if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::string_view> hf_family_names() {
  std::vector<std::string_view> names;
  for (const auto family : kFamilies)
    for (const HfFamily& row : family()) names.push_back(row.name);
  return names;
}

}  // namespace ingle
