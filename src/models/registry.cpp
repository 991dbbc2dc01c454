// Which architectures there are, and how a file becomes a model.
#include <fmt/ranges.h>

#include "base/error.h"
#include "models/architecture.h"
#include "models/file_kind.h"

namespace ingle {

using Family = std::span<const Architecture>;

// One line per family. Each declares the function it calls, which stands in the family's own file: nobody else needs
// it. (A function declared here is one of namespace ingle, so the table must not be in an unnamed one.)
// clang-format off
constexpr Family (*kFamilies[])() = {
    [] { extern Family bert_architectures(); return bert_architectures(); },
    [] { extern Family deepseek2_architectures(); return deepseek2_architectures(); },
    [] { extern Family gemma3n_architectures(); return gemma3n_architectures(); },
    [] { extern Family gemma4_architectures(); return gemma4_architectures(); },
    [] { extern Family llama_architectures(); return llama_architectures(); },
};
// clang-format on

namespace {

const Architecture* find_architecture(std::string_view name) {
  for (const auto family : kFamilies) {
    for (const Architecture& row : family())
      if (row.name == name) return &row;
  }
  return nullptr;
}

// Any model may have a classifier in place of, or beside, an output layer: rerankers have.
std::optional<Classifier> find_classifier(const Weights& w, int64_t d_model) {
  if (!w.has("cls.output")) return std::nullopt;
  Classifier classifier{.dense = {}, .output = fine(w.linear("cls.output", d_model, w.rows_of("cls.output")))};
  if (w.has("cls")) classifier.dense = fine(w.linear("cls", d_model, d_model));
  return classifier;
}

}  // namespace

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const auto family : kFamilies) {
    for (const Architecture& row : family()) names.push_back(row.name);
  }
  return names;
}

LoadedModel load_model(const GgufFile& file, Backend& backend, LoadOptions options) {
  const std::string_view name = file.get_string("general.architecture");
  check_is_model(file);
  const Architecture* architecture = find_architecture(name);
  if (architecture == nullptr) {
    throw_error(ErrorCode::kUnsupported, "{}: architecture '{}' is not implemented; known are {}", file.path(), name,
                fmt::join(architecture_names(), ", "));
  }
  if (file.tensors().empty()) {
    throw_error(ErrorCode::kUnsupported, "{}: has a vocabulary but no weights; it can tokenize, not generate",
                file.path());
  }
  const Hparams h = read_hparams(file, architecture->defaults);
  LoadedModel model;
  model.weights = std::make_unique<WeightStore>();
  WeightLoader loader(file, backend, *model.weights, std::move(options));
  model.graph = architecture->make(h, Weights(loader));
  model.classifier = find_classifier(Weights(loader), h.d_model);
  loader.finish();
  return model;
}

}  // namespace ingle
