#include "ingle/inspect.h"

#include <boost/json.hpp>
#include <cmath>

#include "base/error.h"
#include "runtime/inspect.h"
#include "runtime/json_text.h"
#include "runtime/model_impl.h"
#include "runtime/planning_backend.h"
#include "runtime/session_plan.h"

namespace ingle {

FileInfo inspect(const std::filesystem::path& path) { return describe_file(GgufFile::open(path)); }

FileInfo describe_file(const GgufFile& file) {
  FileInfo info;
  info.path = file.path();
  info.version = file.version();
  info.file_bytes = file.file_bytes();
  info.alignment = file.alignment();
  info.parameters = file.parameter_count();
  for (const auto& [key, value] : file.metadata())
    info.metadata.push_back({key, type_text(value), json_text(value), element_count(value)});
  for (const GgufTensor& tensor : file.tensors()) {
    info.tensors.push_back({.name = tensor.name,
                            .type = std::string(format_of(tensor.view.type).name),
                            .shape = to_string(tensor.view.shape),
                            .elements = tensor.view.shape.elements(),
                            .bytes = tensor.view.bytes(),
                            .offset = tensor.file_offset,
                            .shard = tensor.shard});
  }
  return info;
}

std::vector<MemoryUse> plan_memory(Engine& engine, const std::filesystem::path& path, const SessionOptions& options) {
  return plan_file(engine, GgufFile::open(path), options);
}

std::vector<MemoryUse> plan_file(Engine& engine, const GgufFile& file, const SessionOptions& options) {
  PlanningBackend backend(*engine.impl().backend);
  const LoadedModel model = load_model(file, backend, {.progress = {}, .warn = {}, .drop_pages = false});
  const SessionOptions resolved = resolve_options(options, model.graph->hparams(), backend);
  const std::vector<KvGroupOptions> groups = plan_cache(*model.graph, backend, resolved);
  return {{"weights", model.weights->bytes(), "packed for this machine"},
          {"kv cache", cache_bytes(groups), describe_cache(groups)},
          {"activations", plan_activations(*model.graph, backend, resolved),
           fmt::format("{} rows at once, logits included", resolved.micro_batch)}};
}

}  // namespace ingle
