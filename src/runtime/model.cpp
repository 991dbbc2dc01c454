#include "ingle/model.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "models/rope.h"
#include "models/vocabulary.h"
#include "runtime/model_impl.h"
#include "runtime/planning_backend.h"
#include "runtime/tokenize.h"

namespace ingle {
namespace {

// An array's largest entry, or the number.
int64_t largest(const GgufFile& file, const std::string& key) {
  const GgufValue* value = file.find_value(key);
  if (value == nullptr) return 0;
  if (value->type != GgufValue::Type::kArray) return file.get_int(key);
  const std::vector<int64_t> all = *file.find_ints(key);
  return all.empty() ? 0 : *std::ranges::max_element(all);
}

// The type of most of the file's weights, by bytes.
std::string main_type(const GgufFile& file) {
  std::map<std::string_view, uint64_t> bytes;
  for (const GgufTensor& tensor : file.tensors())
    bytes[format_of(tensor.view.type).name] += static_cast<uint64_t>(tensor.view.bytes());
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& row) { return row.second; });
  return most == bytes.end() ? "" : std::string(most->first);
}

}  // namespace

ModelInfo describe_model(const GgufFile& file) {
  ModelInfo info;
  info.path = file.path();
  info.name = file.find_string("general.name").value_or("");
  info.architecture = file.get_string("general.architecture");
  info.file_type = main_type(file);
  info.file_bytes = file.file_bytes();
  info.parameters = file.parameter_count();
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", info.architecture, name); };
  info.layers = file.find_int(key("block_count")).value_or(0);
  info.d_model = file.find_int(key("embedding_length")).value_or(0);
  info.heads = largest(file, key("attention.head_count"));
  info.kv_heads = file.find_value(key("attention.head_count_kv")) == nullptr
                      ? info.heads
                      : largest(file, key("attention.head_count_kv"));
  info.context_length = file.find_int(key("context_length")).value_or(0);
  constexpr std::string_view kPoolings[] = {"", "mean", "cls", "last", "rank"};  // by GGUF's numbers
  if (const auto type = file.find_int(key("pooling_type")); type && *type > 0 && *type < std::ssize(kPoolings))
    info.pooling = kPoolings[*type];
  info.has_chat_template = file.find_string("tokenizer.chat_template").has_value();
  return info;
}

namespace {

// The names of a classifier's numbers, where the file has as many as there are numbers.
std::vector<std::string> label_names(const GgufFile& file, int64_t count) {
  const auto names =
      file.find_strings(fmt::format("{}.classifier.output_labels", file.get_string("general.architecture")));
  std::vector<std::string> labels(static_cast<size_t>(count));
  if (names && names->size() == labels.size()) labels.assign(names->begin(), names->end());
  return labels;
}

// Whether weights stay in the file. Their packed size is planned only where it could matter.
Packing choose_packing(Engine& engine, const GgufFile& file, const ModelOptions& options) {
  if (options.weights != WeightMemory::kAuto)
    return options.weights == WeightMemory::kMapped ? Packing::kPerUse : Packing::kAtLoad;
  const uint64_t available = options.available_bytes.value_or(Engine::machine().available_bytes);
  const auto fits = [&](uint64_t bytes) { return bytes + bytes / 20 <= available; };  // something for everything else
  if (available == 0 || fits(2 * file.file_bytes())) return Packing::kAtLoad;
  PlanningBackend planning(*engine.impl().backend);
  const LoadedModel planned = load_model(file, planning, {.progress = {}, .warn = {}, .drop_pages = false});
  const uint64_t bytes = planned.weights->bytes();
  if (fits(bytes)) return Packing::kAtLoad;
  engine.impl().log(LogLevel::kWarning,
                    fmt::format("{}: packed weights take {:.1f} GB and {:.1f} GB of memory are available: they stay in "
                                "the mapped file, which is slow (a smaller quantisation would fit; --weights packed "
                                "tries it anyway)",
                                file.path(), static_cast<double>(bytes) * 1e-9, static_cast<double>(available) * 1e-9));
  return Packing::kPerUse;
}

}  // namespace

Model::Impl::Impl(Engine& engine_, GgufFile opened, const ModelOptions& options)
    : engine(&engine_), file(std::move(opened)), info(describe_model(file)) {
  // The model first: of a file that is none, that is what one wants to hear.
  if (!options.vocabulary_only) {
    const auto warn = [this](std::string_view text) { engine->impl().log(LogLevel::kWarning, text); };
    loaded =
        load_model(file, backend(),
                   {.progress = options.progress, .warn = warn, .packing = choose_packing(engine_, file, options)});
  }
  tokenizer = Tokenizer::create(load_vocabulary(file, options.pre_tokenizer));
  for (const std::string& note : tokenizer->notes()) {
    engine->impl().log(LogLevel::kInfo, fmt::format("{}: {}", file.path(), note));
  }
  for (const std::string& warning : tokenizer->warnings())
    engine->impl().log(LogLevel::kWarning, fmt::format("{}: {}", file.path(), warning));
  // A model whose template is broken can still be measured and continue texts.
  try {
    chat.emplace(std::string(file.find_string("tokenizer.chat_template").value_or("")), *tokenizer);
  } catch (const Error& error) {
    engine->impl().log(LogLevel::kWarning, fmt::format("{}: {}", file.path(), error.what()));
    chat_error = error;
  }
  info.vocabulary = loaded.graph ? loaded.graph->hparams().vocab : tokenizer->size();
  if (loaded.graph) {
    const Hparams& h = loaded.graph->hparams();
    info.causal = h.causal;
    if (turns_for_long_texts(file, h, std::numeric_limits<int64_t>::max()))
      info.short_context = h.rope.original_context;
    info.generates = info.causal && loaded.graph->has_logits();
  }
  if (loaded.classifier) info.labels = label_names(file, loaded.classifier->output.out());
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::open(Engine& engine, const std::filesystem::path& path, ModelOptions options) {
  try {
    return Model(std::make_unique<Impl>(engine, GgufFile::open(path), options));
  } catch (const std::bad_alloc&) {
    throw_error(ErrorCode::kOutOfMemory, "{}: not enough memory to load it", path.native());
  }
}

const ModelInfo& Model::info() const noexcept { return impl_->info; }
Engine& Model::engine() const noexcept { return *impl_->engine; }

std::vector<TokenId> Model::tokenize(std::string_view text, TokenizeOptions options) const {
  return ingle::tokenize(*impl_->tokenizer, text, options);
}

namespace {

// A weight matrix may have more rows than the file has tokens: such an id is a token without a text.
bool has_text(const Tokenizer& tokenizer, TokenId id, int64_t vocabulary) {
  if (id < 0 || id >= vocabulary)
    throw_error(ErrorCode::kInvalidArgument, "token {} is not from 0 to {}", id, vocabulary - 1);
  return id < tokenizer.size();
}

}  // namespace

std::string Model::piece(TokenId id, bool special) const {
  if (!has_text(*impl_->tokenizer, id, impl_->info.vocabulary)) return {};
  return impl_->tokenizer->piece(id, special);
}

const std::string& Model::token_text(TokenId id) const {
  static const std::string kNone;
  return has_text(*impl_->tokenizer, id, impl_->info.vocabulary) ? impl_->tokenizer->text(id) : kNone;
}

std::string_view Model::token_kind(TokenId id) const {
  if (!has_text(*impl_->tokenizer, id, impl_->info.vocabulary)) return to_string(TokenKind::kUnused);
  return to_string(impl_->tokenizer->kind(id));
}

std::string Model::detokenize(std::span<const TokenId> ids, bool special) const {
  std::vector<TokenId> known;
  for (TokenId id : ids) {
    if (has_text(*impl_->tokenizer, id, impl_->info.vocabulary)) known.push_back(id);
  }
  return impl_->tokenizer->decode(known, special);
}

bool Model::is_end_of_generation(TokenId id) const {
  return has_text(*impl_->tokenizer, id, impl_->info.vocabulary) && impl_->tokenizer->is_end_of_generation(id);
}

namespace {

const Chat& chat_of(const Model& model) {
  if (!model.impl().chat) throw *model.impl().chat_error;
  return *model.impl().chat;
}

}  // namespace

std::vector<TokenId> Model::tokenize_chat(const ChatRequest& request) const { return chat_of(*this).tokenize(request); }
std::string Model::render_chat(const ChatRequest& request) const { return prompt_template().render(request); }
const PromptTemplate& Model::prompt_template() const { return chat_of(*this).prompt_template(); }

std::vector<std::string> Model::apply_recommended_sampling(SamplerOptions& options) const {
  const GgufFile& file = impl_->file;
  std::vector<std::string> set;
  const auto apply = [&](std::string_view name, auto& target) {
    const std::string key = fmt::format("general.sampling.{}", name);
    if constexpr (std::is_floating_point_v<std::remove_reference_t<decltype(target)>>) {
      const auto value = file.find_float(key);
      if (!value) return;
      target = static_cast<float>(*value);
    } else {
      const auto value = file.find_int(key);
      if (!value) return;
      target = static_cast<int32_t>(std::clamp<int64_t>(*value, INT32_MIN, INT32_MAX));
    }
    set.emplace_back(name);
  };
  apply("temp", options.temperature);
  apply("top_k", options.top_k);
  apply("top_p", options.top_p);
  apply("min_p", options.min_p);
  apply("xtc_probability", options.xtc_probability);
  apply("xtc_threshold", options.xtc_threshold);
  apply("penalty_last_n", options.penalty_last_n);
  apply("penalty_repeat", options.repetition_penalty);
  apply("mirostat", options.mirostat);
  apply("mirostat_tau", options.mirostat_tau);
  apply("mirostat_eta", options.mirostat_eta);
  // Tokens that stand for the end of a picture or a sound, which the model must never write.
  if (const auto suppressed = file.find_ints("tokenizer.ggml.suppress_tokens"); suppressed && !suppressed->empty()) {
    for (const int64_t id : *suppressed) {
      if (id >= 0 && id < impl_->info.vocabulary)
        options.logit_bias.emplace_back(static_cast<TokenId>(id), -std::numeric_limits<float>::infinity());
    }
    set.emplace_back("logit_bias");
  }
  return set;
}

std::vector<LayerRowsPlan> Model::explain_rows() const {
  std::vector<LayerRowsPlan> plan;
  if (!impl_->loaded.graph) return plan;
  const Hparams& h = impl_->loaded.graph->hparams();
  const int last_writer = impl_->loaded.graph->last_writer();
  for (int i = 0; i < static_cast<int>(h.layers.size()); ++i) {
    const LayerHparams& layer = h.layers[static_cast<size_t>(i)];
    const bool reads = layer.kv_owner != i;
    const std::string rows = i < last_writer    ? "every row"
                             : i == last_writer ? "keys and values of every row, then wanted rows only"
                                                : "wanted rows only";
    const std::string cache = reads ? fmt::format("reads layer {}'s", layer.kv_owner) : "writes its own";
    if (!plan.empty() && plan.back().rows == rows && plan.back().cache == cache) {
      plan.back().last = i;
    } else {
      plan.push_back({i, i, rows, cache});
    }
  }
  return plan;
}

std::vector<TensorPlacement> Model::explain() const {
  std::vector<TensorPlacement> placements;
  if (!impl_->loaded.weights) return placements;
  for (const auto& matrix : impl_->loaded.weights->matrices) {
    const Format& format = format_of(matrix->file_type);
    placements.push_back({.name = matrix->name,
                          .type = std::string(format.name),
                          .shape = fmt::format("[{}, {}]", matrix->rows, matrix->columns),
                          .layout = matrix->layout,
                          .reason = matrix->reason,
                          .file_bytes = format.row_bytes(matrix->columns) * static_cast<uint64_t>(matrix->rows),
                          .memory_bytes = matrix->bytes});
  }
  return placements;
}

}  // namespace ingle
