// One line per architecture name.
#include <array>

#include <fmt/ranges.h>

#include "base/error.h"
#include "models/gemma3n.h"
#include "models/gemma4.h"
#include "models/llama.h"
#include "models/model.h"

namespace ingle {
namespace {

struct ArchitectureRow {
  std::string_view name;
  std::unique_ptr<ModelGraph> (*make)(const Hparams& h, const Weights& w);
  HparamDefaults defaults = {};
};

constexpr std::array kArchitectures = {
    ArchitectureRow{"gemma3n", make_gemma3n, kGemma3nDefaults},
    ArchitectureRow{"gemma4", make_gemma4, kGemma4Defaults},
    ArchitectureRow{"llama", make_llama<Rope::Pairs::kAdjacent>},  // Llama 1-3, Mistral, SmolLM, SmolLM2
    ArchitectureRow{"qwen2", make_llama<Rope::Pairs::kHalves>},    // Qwen2, Qwen2.5
    ArchitectureRow{"qwen3", make_llama<Rope::Pairs::kHalves>},    // with norms on each head's q and k
};

// Files that are GGUF but no model of their own get their own message.
void check_kind(const GgufFile& file, std::string_view architecture) {
  const std::string_view type = file.find_string("general.type").value_or("model");
  if (architecture == "clip" || type == "mmproj") {
    throw_error(ErrorCode::kUnsupported,
                "{}: is a projector for images or sound (mmproj), not a language model; open the model it belongs to",
                file.path());
  }
  if (type == "adapter") {
    throw_error(ErrorCode::kUnsupported, "{}: is an adapter (LoRA), not a whole model; open the model it was made for",
                file.path());
  }
  if (type == "imatrix" || architecture == "controlvector") {
    throw_error(ErrorCode::kUnsupported, "{}: is a {}, not a language model", file.path(),
                type == "imatrix" ? "table of quantization weights (imatrix)" : "control vector");
  }
}

}  // namespace

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const ArchitectureRow& row : kArchitectures) names.push_back(row.name);
  return names;
}

LoadedModel load_model(const GgufFile& file, Backend& backend, LoadOptions options) {
  const std::string_view architecture = file.get_string("general.architecture");
  check_kind(file, architecture);
  for (const ArchitectureRow& row : kArchitectures) {
    if (row.name != architecture) continue;
    if (file.tensors().empty()) {
      throw_error(ErrorCode::kUnsupported, "{}: has a vocabulary but no weights; it can tokenize, not generate",
                  file.path());
    }
    const Hparams h = read_hparams(file, row.defaults);
    LoadedModel model;
    model.weights = std::make_unique<WeightStore>();
    WeightLoader loader(file, backend, *model.weights, std::move(options));
    model.graph = row.make(h, Weights(loader));
    loader.finish();
    return model;
  }
  throw_error(ErrorCode::kUnsupported, "{}: architecture '{}' is not implemented; known are {}", file.path(),
              architecture, fmt::join(architecture_names(), ", "));
}

}  // namespace ingle
