// A family's rules draft the file; a model is planned from the draft, as if it were a file, which checks every name and
// shape; then tensors are read, quantised and written, a few rows of one at a time.
#include "ingle/convert.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "convert/description.h"
#include "convert/family.h"
#include "convert/vocabulary.h"
#include "gguf/writer.h"
#include "ingle/prompt_template.h"
#include "models/model.h"
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

Draft draft_of(const HfFolder& folder) {
  const HfFamily* family = find_hf_family(folder.architecture());
  if (family == nullptr) {
    throw_error(ErrorCode::kUnsupported, "{}: \"{}\" cannot be converted; known are {}", folder.config().file(),
                folder.architecture(), fmt::join(hf_family_names(), ", "));
  }
  Draft draft(folder, std::string(family->architecture));
  family->draft(draft);
  draft.finish();
  add_description(draft, folder);
  const auto embedding = std::ranges::find(draft.tensors, "token_embd.weight", &DraftTensor::name);
  INGLE_CHECK(embedding != draft.tensors.end());
  add_vocabulary(draft, folder, embedding->rows.shape.rows());
  add_templates(draft, folder);
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

// Plans a model from the draft: whatever is missing, too much or of another shape is an error that names it.
void check(const Draft& draft, const std::vector<DType>& types, const std::string& name) {
  GgufRecipe recipe{.name = name, .metadata = draft.metadata, .tensors = {}, .fill = {}};
  for (size_t i = 0; i < draft.tensors.size(); ++i)
    recipe.tensors.push_back({draft.tensors[i].name, types[i], draft.tensors[i].rows.shape});
  const GgufFile file = GgufFile::generate(std::move(recipe));
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
  const std::vector<DType> types = choose_types(shape_of(draft), options.type);
  draft.set("general.quantization_version", gguf_value<uint32_t>(2));
  draft.set("general.file_type", gguf_value<uint32_t>(file_type_number(options.type)));
  check(draft, types, path.native());

  GgufWriter writer(target, {.max_shard_bytes = options.max_shard_bytes});
  for (const auto& [key, value] : draft.metadata) writer.set(key, value);
  RowEncoder encoder(options.threads);
  ConvertReport report{.architecture = draft.architecture(), .tensors = static_cast<int64_t>(draft.tensors.size())};
  double all = 0, done = 0;
  for (const DraftTensor& tensor : draft.tensors) {
    report.parameters += tensor.rows.shape.elements();
    all += static_cast<double>(tensor.rows.shape.elements());
  }
  std::vector<std::byte> buffer;
  for (size_t i = 0; i < draft.tensors.size(); ++i) {
    const Rows& rows = draft.tensors[i].rows;
    writer.add_tensor(draft.tensors[i].name, types[i], rows.shape, [&, i](const GgufWriter::Sink& write) {
      const int64_t columns = rows.shape.columns();
      const int64_t piece = rows_at_once(columns);
      for (int64_t row = 0; row < rows.shape.rows(); row += piece) {
        const int64_t count = std::min(piece, rows.shape.rows() - row);
        encoder.encode(rows.read, format_of(types[i]), columns, row, count, nullptr, buffer);
        write(buffer);
        done += static_cast<double>(count * columns);
        if (options.progress && !options.progress(done / all))
          throw_error(ErrorCode::kCancelled, "{}: cancelled", target.native());
      }
      for (const SafeTensor* source : rows.sources) folder.drop(*source);
    });
  }
  report.files = writer.finish();
  for (const std::filesystem::path& file : report.files) report.bytes += std::filesystem::file_size(file);
  return report;
}

}  // namespace ingle
