#include "convert/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "convert/front_matter.h"

namespace ingle {
namespace {

// "135M", "7.2B": at least two digits.
std::string rounded_count(double count) {
  constexpr std::pair<double, char> kUnits[] = {{1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}, {1e3, 'K'}};
  const auto* unit = std::ranges::find_if(kUnits, [&](const auto& u) { return count > u.first; });
  if (unit == std::end(kUnits)) --unit;
  const double scaled = count / unit->first;
  const double whole = std::round(scaled);
  return fmt::format("{:.{}f}{}", scaled, whole >= 10 ? 0 : whole >= 1 ? 1 : 2, unit->second);
}

// Of experts, how many there are and how large one is with what all rows go through: "8x7.2B".
std::string size_label(const Draft& draft) {
  double all = 0, in_experts = 0;
  int64_t count = 0;
  for (const DraftTensor& tensor : draft.tensors) {
    const auto elements = static_cast<double>(tensor.rows.shape.elements());
    all += elements;
    if (tensor.name.find("_exps.") == tensor.name.npos) continue;
    in_experts += elements;
    count = tensor.rows.shape[0];
  }
  if (count == 0) return rounded_count(all);
  return fmt::format("{}x{}", count, rounded_count(all - in_experts + in_experts / static_cast<double>(count)));
}

void add_readme(Draft& draft, const HfFolder& folder) {
  const std::optional<std::string> text = folder.read("README.md");
  if (!text) return;
  const FrontMatter matter = read_front_matter(*text);
  const auto values = [&](const char* name) {
    const auto found = matter.find(name);
    return found == matter.end() ? std::vector<std::string>{} : found->second;
  };
  for (const auto& [name, key] : {std::pair{"license", "general.license"},
                                  {"license_name", "general.license.name"},
                                  {"license_link", "general.license.link"}})
    if (const auto texts = values(name); !texts.empty()) draft.set(key, gguf_value<std::string>(texts.front()));
  for (const auto& [name, key] : {std::pair{"tags", "general.tags"}, {"language", "general.languages"}})
    if (const auto texts = values(name); !texts.empty()) draft.set(key, gguf_array<std::string>(texts));
}

void add_recommended_sampling(Draft& draft, const HfFolder& folder) {
  const std::optional<HfConfig> c = folder.read_config("generation_config.json");
  if (!c) return;
  const auto real = [&](const char* name, const char* key) {
    if (c->has(name))
      draft.set(fmt::format("general.sampling.{}", key), gguf_value<float>(static_cast<float>(c->number(name))));
  };
  real("repetition_penalty", "penalty_repeat");
  if (!c->flag("do_sample", false)) return;  // the rest does not count then
  real("temperature", "temp");
  if (c->has("top_k")) {
    const int64_t top_k = c->integer("top_k");
    if (!std::in_range<int32_t>(top_k)) c->refuse("top_k", "a whole number of 32 bits");
    draft.set("general.sampling.top_k", gguf_value<int32_t>(static_cast<int32_t>(top_k)));
  }
  real("top_p", "top_p");
  real("min_p", "min_p");
}

}  // namespace

void add_description(Draft& draft, const HfFolder& folder) {
  draft.set("general.type", gguf_value<std::string>("model"));
  draft.set("general.name", gguf_value<std::string>(name_of_folder(folder.path())));
  draft.set("general.size_label", gguf_value<std::string>(size_label(draft)));
  add_readme(draft, folder);
  add_recommended_sampling(draft, folder);
}

}  // namespace ingle
