// Every family of models that can be converted.
#include "convert/family.h"

namespace ingle {

using Families = std::span<const HfFamily>;

// One line per file of families. Each declares the function it calls, which stands in that file: nobody else needs it.
// (A function declared here is one of namespace ingle, so the table must not be in an unnamed one.)
// clang-format off
constexpr Families (*kFamilies[])() = {
    [] { extern Families llama_families(); return llama_families(); },
    [] { extern Families gemma4_families(); return gemma4_families(); },
    [] { extern Families gemma3n_families(); return gemma3n_families(); },
    [] { extern Families gpt_oss_families(); return gpt_oss_families(); },
    [] { extern Families deepseek_families(); return deepseek_families(); },
    [] { extern Families bert_families(); return bert_families(); },
};
// clang-format on

const HfFamily* find_hf_family(std::string_view name) {
  for (const auto family : kFamilies)
    for (const HfFamily& row : family())
      if (row.name == name) return &row;
  return nullptr;
}

bool pairs_heads(std::string_view architecture) {
  for (const auto family : kFamilies)
    for (const HfFamily& row : family())
      if (row.architecture == architecture) return row.pairs_heads;
  return false;
}

std::vector<std::string_view> hf_family_names() {
  std::vector<std::string_view> names;
  for (const auto family : kFamilies)
    for (const HfFamily& row : family()) names.push_back(row.name);
  return names;
}

}  // namespace ingle
