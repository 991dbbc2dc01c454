// A model's folder: a family's rules draft the file; a model is planned from the draft, as if it were a file, which
// checks every name and shape; then it is written.
#include "ingle/convert.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "convert/description.h"
#include "convert/family.h"
#include "convert/pooling.h"
#include "convert/reranker.h"
#include "convert/vocabulary.h"
#include "ingle/prompt_template.h"
#include "models/model.h"
#include "runtime/drafted_file.h"
#include "runtime/engine_impl.h"
#include "runtime/file_types.h"
#include "runtime/planning_backend.h"

namespace ingle {
namespace {

void add_templates(Draft& draft, const HfFolder& folder) {
  std::error_code ignored;
  const auto is_there = [&](const char* name) { return std::filesystem::exists(folder.path() / name, ignored); };
  if (!is_there("tokenizer_config.json") && !is_there("chat_template.jinja") && !is_there("chat_template.json")) return;
  const TemplateSource source = read_template(folder.path());
  if (!source.text.empty()) draft.set("tokenizer.chat_template", gguf_value<std::string>(source.text));
  for (const std::string& name : source.names)
    draft.set("tokenizer.chat_template." + name, gguf_value<std::string>(read_template(folder.path(), name).text));
}

// Weights that somebody quantised before are kept or refused, never guessed at.
void check_quantized(const HfFolder& folder, const HfFamily& family) {
  const std::optional<HfConfig> c = folder.config().object("quantization_config");
  if (!c) return;
  const std::string method = c->text("quant_method", "");
  if (!method.empty() && method == family.keeps_quantized) return;
  const std::string bits = c->has("bits") ? fmt::format(", {} bits", c->integer("bits")) : "";
  throw_error(
      ErrorCode::kUnsupported,
      "{}: the weights are quantised (quant_method \"{}\"{}), which is not read{}; convert the folder they were "
      "made from",
      folder.path().native(), method, bits,
      family.keeps_quantized.empty() ? "" : fmt::format(" (but \"{}\" is)", family.keeps_quantized));
}

Draft draft_of(const HfFolder& folder) {
  const HfFamily* family = find_hf_family(folder.architecture());
  if (family == nullptr) {
    throw_error(ErrorCode::kUnsupported, "{}: \"{}\" cannot be converted; known are {}", folder.config().file(),
                folder.architecture(), fmt::join(hf_family_names(), ", "));
  }
  check_quantized(folder, *family);
  Draft draft(folder, std::string(family->architecture));
  family->draft(draft);
  const bool ranks = is_reranker(folder);
  if (!ranks) add_pooling(draft, folder);
  draft.finish();
  add_description(draft, folder);
  const auto embedding = std::ranges::find(draft.tensors, "token_embd.weight", &DraftTensor::name);
  INGLE_CHECK(embedding != draft.tensors.end());
  add_vocabulary(draft, folder, embedding->rows.shape.rows());
  add_templates(draft, folder);
  if (ranks) make_reranker(draft);
  return draft;
}

ModelShape shape_of(const Draft& draft) {
  ModelShape shape;
  for (const DraftTensor& tensor : draft.tensors) {
    ShapeTensor entry;
    entry.name = tensor.name;
    entry.shape = tensor.rows.shape;
    if (tensor.storage == DraftTensor::Storage::kMatrix) entry.storage = ShapeTensor::Storage::kMatrix;
    shape.tensors.push_back(std::move(entry));
  }
  return shape;
}

std::vector<DType> types_of(const Draft& draft, const std::string& type) {
  std::vector<DType> types = choose_types(shape_of(draft), type);
  for (size_t i = 0; i < types.size(); ++i)
    if (const auto& packed = draft.tensors[i].packed) types[i] = packed->type;
  return types;
}

uint32_t file_type_of(const Draft& draft, const std::string& type) {
  const auto packed = std::ranges::find_if(draft.tensors, [](const DraftTensor& t) { return t.packed.has_value(); });
  return packed != draft.tensors.end() ? file_type_number(packed->packed->type) : file_type_number(type);
}

// Plans a model from the draft: whatever is missing, too much or of another shape is an error that names it.
void check(const DraftedFile& drafted, const std::string& name) {
  const GgufFile file = planned_file(drafted, name);
  Engine engine({.threads = 1, .isa = "", .log = {}});
  PlanningBackend planning(*engine.impl().backend);
  std::string unused;
  const auto warn = [&](std::string_view text) { unused = text; };
  load_model(file, planning, {.progress = {}, .warn = warn, .drop_pages = false});
  if (!unused.empty()) throw Error(ErrorCode::kInternal, unused);
}

}  // namespace

std::vector<std::string> convertible_models() {
  const std::vector<std::string_view> names = hf_family_names();
  return {names.begin(), names.end()};
}

ConvertReport convert_folder(const std::filesystem::path& path, const std::filesystem::path& target,
                             const ConvertOptions& options) {
  const HfFolder folder = HfFolder::open(path);
  Draft draft = draft_of(folder);
  const std::vector<DType> types = types_of(draft, options.type);
  draft.set("general.quantization_version", gguf_value<uint32_t>(2));
  draft.set("general.file_type", gguf_value<uint32_t>(file_type_of(draft, options.type)));
  const DraftedFile file{draft.metadata, draft.tensors, types};
  check(file, path.native());

  ConvertReport report = describe(file);
  report.architecture = draft.architecture();
  report.left_out = draft.left_out;
  report.notes = draft.notes;
  if (!options.dry_run)
    write_drafted(
        file, target, files_of_folder(path), options, [&](const SafeTensor& source) { folder.drop(source); }, report);
  return report;
}

}  // namespace ingle
