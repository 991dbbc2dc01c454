// A published adapter made a GGUF file: read, put beside a plan of its model as if it were that file, written.
#include "base/error.h"
#include "convert/peft.h"
#include "ingle/convert.h"
#include "ingle/input_files.h"
#include "models/adapter.h"
#include "models/model.h"
#include "runtime/drafted_file.h"
#include "runtime/engine_impl.h"
#include "runtime/file_types.h"
#include "runtime/planning_backend.h"

namespace ingle {
namespace {

// A tensor that the model does not have, or one of another shape, is an error that names it.
void check(const DraftedFile& drafted, const GgufFile& base, const std::string& name) {
  const GgufFile file = planned_file(drafted, name);
  Engine engine({.threads = 1, .isa = "", .log = {}});
  PlanningBackend planning(*engine.impl().backend);
  const LoadedModel model = load_model(base, planning, {.progress = {}, .warn = {}, .drop_pages = false});
  load_adapter(file, base, *model.weights, planning);
}

}  // namespace

ConvertReport convert_adapter(const std::filesystem::path& folder, const std::filesystem::path& base,
                              const std::filesystem::path& target, const ConvertOptions& options) {
  const Format& format = encodable_format(options.type);
  if (format.block_elements != 1)
    throw_error(ErrorCode::kInvalidArgument, "type '{}': an adapter is stored as f32, f16 or bf16, its rows are short",
                options.type);
  const GgufFile model = GgufFile::open(base);
  const PeftAdapter adapter = read_peft(folder, model);
  const std::string architecture(model.get_string("general.architecture"));
  const std::vector<std::pair<std::string, GgufValue>> metadata = {
      {"general.type", gguf_value<std::string>("adapter")},
      {"general.architecture", gguf_value<std::string>(architecture)},
      {"general.name", gguf_value<std::string>(name_of_folder(folder))},
      {"general.file_type", gguf_value<uint32_t>(file_type_number(options.type))},
      {"adapter.type", gguf_value<std::string>("lora")},
      {"adapter.lora.alpha", gguf_value<float>(adapter.alpha)},
  };
  const std::vector<DType> types(adapter.tensors.size(), format.type);
  const DraftedFile file{metadata, adapter.tensors, types};
  check(file, model, folder.native());

  ConvertReport report = describe(file);
  report.architecture = architecture;
  if (adapter.unused > 0)
    report.notes.push_back(
        fmt::format("{} matrices for keys and values that the model does not compute are left out", adapter.unused));
  if (!options.dry_run) {
    ConvertOptions whole = options;
    whole.max_shard_bytes = 0;
    std::vector<std::filesystem::path> keep = files_of_folder(folder);
    const std::vector<std::filesystem::path> of_base = model_files(base);
    keep.insert(keep.end(), of_base.begin(), of_base.end());
    write_drafted(
        file, target, std::move(keep), whole, [&](const SafeTensor& source) { adapter.weights.drop(source); }, report);
  }
  return report;
}

}  // namespace ingle
