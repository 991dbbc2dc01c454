#include "convert/pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/json_document.h"

namespace ingle {
namespace {

constexpr const char* kModules = "modules.json";

struct Way {
  const char *name, *flag;  // "pooling_mode" is the name, or one of several flags is set
  int64_t type;             // GGUF's
};
constexpr std::array kWays = {Way{"mean", "pooling_mode_mean_tokens", 1},
                              Way{"cls", "pooling_mode_cls_token", 2},
                              Way{"lasttoken", "pooling_mode_lasttoken", 3},
                              Way{"max", "pooling_mode_max_tokens", 0},
                              Way{"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", 0},
                              Way{"weightedmean", "pooling_mode_weightedmean_tokens", 0}};

int64_t pooling_type(const HfConfig& c) {
  std::vector<const Way*> chosen;
  for (const Way& way : kWays)
    if (c.has("pooling_mode") ? c.text("pooling_mode") == way.name : c.flag(way.flag, false)) chosen.push_back(&way);
  if (chosen.size() != 1) c.refuse("pooling_mode", "one of mean, cls, lasttoken");
  if (chosen[0]->type == 0)
    throw_error(ErrorCode::kUnsupported, "{}: pools by {}; GGUF has mean, cls and lasttoken", c.file(),
                chosen[0]->name);
  return chosen[0]->type;
}

// A folder inside the model's, by a plain name.
std::string module_folder(JsonValue path) {
  const std::string name(path.string());
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; };
  if (name.empty() || !std::ranges::all_of(name, plain)) path.fail("not the name of a folder");
  return name;
}

}  // namespace

void add_pooling(Draft& draft, const HfFolder& folder) {
  const std::optional<std::string> text = folder.read(kModules);
  if (!text) return;
  const JsonDocument json(*text, kModules);
  for (const JsonValue module : json.root().items()) {
    const std::string_view type = module.at("type").string();
    if (type.ends_with(".Pooling")) {
      const std::string name = module_folder(module.at("path")) + "/config.json";
      const std::optional<HfConfig> config = folder.read_config(name);
      if (!config)
        throw_error(ErrorCode::kNotFound, "{}: no {}, which {} names", folder.path().native(), name, kModules);
      draft.count("pooling_type", pooling_type(*config));
    } else if (!type.ends_with(".Transformer") && !type.ends_with(".Normalize")) {
      throw_error(ErrorCode::kUnsupported, "{}: a module of type {} has no form in GGUF", kModules, type);
    }
  }
}

}  // namespace ingle
