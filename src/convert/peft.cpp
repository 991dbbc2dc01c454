#include "convert/peft.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "convert/family.h"

namespace ingle {
namespace {

namespace fs = std::filesystem;

// What changes the computation and has no place in the file.
struct Setting {
  const char *key, *what;
};
constexpr Setting kRefused[] = {
    {"use_dora", "DoRA (it scales every row of the sum)"},
    {"use_qalora", "QALoRA (it adds up inputs in groups)"},
    {"fan_in_fan_out", "weights that are stored transposed"},
    {"lora_bias", "biases beside B"},
    {"alpha_pattern", "another alpha for some modules"},
    {"target_parameters", "parameters that are no module's"},
    {"layer_replication", "layers that are there twice"},
    {"alora_invocation_tokens", "aLoRA (it begins at certain tokens)"},
    {"use_bdlora", "matrices in blocks"},
    {"kasa_config", "KaSA (it scales the ranks, and takes something out of the model's weights)"},
    {"monteclora_config", "MonteCLoRA"},
    {"arrow_config", "a choice among adapters"},
};
// Beginnings whose B A is zero, so that what is trained stands beside the model as it was published. The others (PiSSA,
// OLoRA, LoftQ, ...) take something out of its weights first.
constexpr std::string_view kBeginnings[] = {"gaussian", "eva", "orthogonal"};

void check_method(const HfConfig& c) {
  if (const std::string method = c.text("peft_type"); method != "LORA")
    throw_error(ErrorCode::kUnsupported, "{}: \"peft_type\" is \"{}\"; LORA can be converted", c.file(), method);
  if (const std::string bias = c.text("bias", "none"); bias != "none")
    throw_error(ErrorCode::kUnsupported, "{}: \"bias\" is \"{}\"; biases cannot be adapted", c.file(), bias);
  for (const auto& [key, what] : kRefused)
    if (c.is_set(key)) throw_error(ErrorCode::kUnsupported, "{}: \"{}\": {} cannot be converted", c.file(), key, what);
  if (!c.is_text("init_lora_weights")) return;
  if (const std::string beginning = c.text("init_lora_weights"); std::ranges::count(kBeginnings, beginning) == 0)
    throw_error(
        ErrorCode::kUnsupported,
        "{}: \"init_lora_weights\" is \"{}\": it changed the model's own weights; PEFT makes a usual adapter of "
        "it (save_pretrained with path_initial_model_for_weight_conversion)",
        c.file(), beginning);
}

float read_alpha(const HfConfig& c) {
  const double alpha = c.number("lora_alpha");
  if (!(alpha >= 1e-20 && alpha <= 1e20)) c.refuse("lora_alpha", "from 1e-20 to 1e20");
  return static_cast<float>(alpha);
}

struct Module {
  std::string_view from, to;
};
// Of a layer, as families call them.
constexpr Module kModules[] = {
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"self_attn.q_a_proj", "attn_q_a"},
    {"self_attn.q_b_proj", "attn_q_b"},
    {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"self_attn.kv_b_proj", "attn_kv_b"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.router", "ffn_gate_inp"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"block_sparse_moe.router.layer", "ffn_gate_inp"},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
    {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
    {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    {"per_layer_input_gate", "inp_gate"},
    {"per_layer_projection", "proj"},
};
constexpr Module kExpertModules[] = {{"gate_proj", "ffn_gate_exps"}, {"up_proj", "ffn_up_exps"},
                                     {"down_proj", "ffn_down_exps"}, {"w1", "ffn_gate_exps"},
                                     {"w3", "ffn_up_exps"},          {"w2", "ffn_down_exps"}};

constexpr std::string_view kEmbedding = "token_embd.weight", kOutput = "output.weight";

// Takes `part` away from the front.
bool take(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

// "12.rest": 12, and the rest stays.
std::optional<int64_t> take_number(std::string_view& text) {
  constexpr size_t kMostDigits = 6;
  const size_t dot = text.find('.');
  if (dot == 0 || dot == text.npos || dot > kMostDigits) return std::nullopt;
  int64_t number = 0;
  for (const char c : text.substr(0, dot)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  text.remove_prefix(dot + 1);
  return number;
}

// A module's tensor in the file, of which layer, and which expert of it.
struct Target {
  std::string tensor;
  std::optional<int64_t> layer = {}, expert = {};
};

std::optional<Target> target_of(std::string_view module) {
  for (const std::string_view prefix : {"base_model.model.", "model.language_model.", "language_model.", "model."})
    take(module, prefix);
  if (module == "embed_tokens") return Target{std::string(kEmbedding)};
  if (module == "lm_head") return Target{std::string(kOutput)};
  if (!take(module, "layers.")) return std::nullopt;
  const std::optional<int64_t> layer = take_number(module);
  if (!layer) return std::nullopt;
  for (const Module& known : kModules)
    if (module == known.from) return Target{fmt::format("blk.{}.{}.weight", *layer, known.to), layer};
  if (!take(module, "mlp.experts.") && !take(module, "block_sparse_moe.experts.")) return std::nullopt;
  const std::optional<int64_t> expert = take_number(module);
  if (!expert) return std::nullopt;
  for (const Module& known : kExpertModules)
    if (module == known.from) return Target{fmt::format("blk.{}.{}.weight", *layer, known.to), layer, expert};
  return std::nullopt;
}

// The last layers, if they read the keys and values of earlier ones; how many do is a float in some files.
struct LayerRange {
  int64_t first, end;
};
LayerRange layers_without_keys(const GgufFile& base) {
  const std::string architecture(base.get_string("general.architecture"));
  const int64_t layers = base.find_int(architecture + ".block_count").value_or(0);
  const GgufValue* shared = base.find_value(architecture + ".attention.shared_kv_layers");
  double count = 0;
  if (shared != nullptr) {
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::is_arithmetic_v<T>) count = static_cast<double>(value);
        },
        shared->value);
  }
  if (!(count > 0 && count <= static_cast<double>(layers))) return {0, 0};
  return {layers - static_cast<int64_t>(count), layers};
}

// The endings of a module's two matrices; of an embedding A is as high as the rank and as wide as the vocabulary.
struct Ending {
  std::string_view text;
  bool a, table;
};
constexpr Ending kEndings[] = {{".lora_A.weight", true, false},
                               {".lora_B.weight", false, false},
                               {".lora_embedding_A", true, true},
                               {".lora_embedding_B", false, true}};

struct Pair {
  const SafeTensor *a = nullptr, *b = nullptr;
};

class Reader {
 public:
  Reader(const fs::path& folder, const GgufFile& base, bool by_root)
      : folder_(folder), base_(base), by_root_(by_root), without_keys_(layers_without_keys(base)) {}

  // Puts halves together.
  void take_all(std::span<const SafeTensor> tensors) {
    std::vector<std::string_view> left;
    for (const SafeTensor& tensor : tensors)
      if (!take_half(tensor)) left.push_back(tensor.name);
    refuse_left_over(folder_, std::move(left), base_.path());
    if (pairs_.empty())
      throw_error(ErrorCode::kInvalidFile, "{}: the adapter has nothing for the model", folder_.native());
  }

  int64_t unused() const noexcept { return unused_; }

  std::vector<DraftTensor> tensors() const {
    std::vector<DraftTensor> result;
    const auto add = [&](std::string_view name) {
      if (const auto found = pairs_.find(name); found != pairs_.end()) add_tensor(found->first, found->second, result);
    };
    for (const GgufTensor& tensor : base_.tensors()) add(tensor.name);
    if (!base_.find(kOutput)) add(kOutput);
    return result;
  }

 private:
  bool take_half(const SafeTensor& tensor) {
    const std::string_view name = tensor.name;
    const auto* ending = std::ranges::find_if(kEndings, [&](const Ending& e) { return name.ends_with(e.text); });
    if (ending == std::end(kEndings)) return false;
    const std::optional<Target> target = target_of(name.substr(0, name.size() - ending->text.size()));
    if (!target || ending->table != (target->tensor == kEmbedding)) return false;
    if (is_unused(*target)) {
      ++unused_;
      return true;
    }
    if (!has_place(*target)) return false;
    if (!tensor.readable() || tensor.shape.rank != 2 || tensor.shape.elements() == 0) {
      throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is {} of type {}; a matrix of numbers is wanted",
                  folder_.native(), name, to_string(tensor.shape), tensor.type);
    }
    Pair& pair = pairs_[target->tensor][target->expert.value_or(0)];
    const SafeTensor*& half = ending->a ? pair.a : pair.b;
    if (half != nullptr)
      throw_error(ErrorCode::kInvalidFile, "{}: tensors {} and {} are both for {}", folder_.native(), half->name, name,
                  target->tensor);
    half = &tensor;
    return true;
  }

  // Adapters of models whose last layers read others' keys and values often have matrices for their own, which nobody
  // trained.
  bool is_unused(const Target& target) const {
    return target.layer && *target.layer >= without_keys_.first && *target.layer < without_keys_.end &&
           (target.tensor.ends_with(".attn_k.weight") || target.tensor.ends_with(".attn_v.weight"));
  }

  bool has_place(const Target& target) const {
    const std::optional<ConstTensorView> original = base_.find(target.tensor);
    if (!original) return target.tensor == kOutput && base_.find(kEmbedding);  // where the two are one
    return !target.expert || (original->shape.rank == 3 && *target.expert < original->shape[0]);
  }

  void add_tensor(const std::string& name, const std::map<int64_t, Pair>& pairs,
                  std::vector<DraftTensor>& result) const {
    const std::optional<ConstTensorView> original = base_.find(name);
    const bool several = original && original->shape.rank == 3;
    const int64_t count = several ? original->shape[0] : 1;
    if (std::ssize(pairs) != count)
      throw_error(ErrorCode::kInvalidFile, "{}: {} has {} experts, of which {} are adapted", folder_.native(), name,
                  count, pairs.size());
    std::vector<Rows> as, bs;
    for (const auto& [expert, pair] : pairs) {
      check_halves(pair);
      as.push_back(rows_of_a(name, *pair.a));
      bs.push_back(rows_of_b(name, *pair.b));
      if (as.back().shape != as.front().shape || bs.back().shape != bs.front().shape)
        throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is {}, unlike that of another expert", folder_.native(),
                    pair.a->name, to_string(pair.a->shape));
    }
    const auto add = [&](const char* ending, std::vector<Rows> rows) {
      result.push_back({name + ending,
                        several ? stacked(std::move(rows)) : std::move(rows.front()),
                        DraftTensor::Storage::kMatrix,
                        {}});
    };
    add(".lora_a", std::move(as));
    add(".lora_b", std::move(bs));
  }

  void check_halves(const Pair& pair) const {
    if (pair.a == nullptr || pair.b == nullptr)
      throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is without its other half", folder_.native(),
                  (pair.a != nullptr ? pair.a : pair.b)->name);
    if (pair.a->shape[0] != pair.b->shape[1])
      throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is {} and {} is {}: they are not of one rank",
                  folder_.native(), pair.a->name, to_string(pair.a->shape), pair.b->name, to_string(pair.b->shape));
  }

  static Rows rows_of_a(std::string_view name, const SafeTensor& a) {
    if (name != kEmbedding) return rows_of(a);
    const int64_t rank = a.shape[0], vocabulary = a.shape[1];
    Rows rows = transposed(elements_of(a), {.matrices = 1, .apart = 0, .rows = rank, .columns = vocabulary});
    rows.shape = Shape{vocabulary, rank};
    return rows;
  }

  // The file's rule is alpha / rank. Rows of q and k go from halves to adjacent pairs where the model's own did.
  Rows rows_of_b(const std::string& name, const SafeTensor& tensor) const {
    Rows b = rows_of(tensor);
    if (by_root_) b = times(std::move(b), std::sqrt(static_cast<float>(tensor.shape[1])));
    const std::string_view architecture = base_.get_string("general.architecture");
    const bool q = name.ends_with(".attn_q.weight"), k = name.ends_with(".attn_k.weight");
    if (!pairs_heads(architecture) || (!q && !k)) return b;
    int64_t heads = base_.get_int(fmt::format("{}.attention.head_count", architecture));
    if (k) heads = base_.find_int(fmt::format("{}.attention.head_count_kv", architecture)).value_or(heads);
    if (heads < 1 || heads > b.shape[0] || b.shape[0] % (2 * heads) != 0) {
      throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is {}; its rows do not divide into {} heads of pairs",
                  folder_.native(), tensor.name, to_string(tensor.shape), heads);
    }
    return paired(std::move(b), heads);
  }

  const fs::path& folder_;
  const GgufFile& base_;
  bool by_root_;
  LayerRange without_keys_;
  int64_t unused_ = 0;
  std::map<std::string, std::map<int64_t, Pair>, std::less<>> pairs_;  // by tensor of the file and expert
};

}  // namespace

PeftAdapter read_peft(const fs::path& folder, const HfConfig& config, SafeTensorsFile weights, const GgufFile& base) {
  check_method(config);
  PeftAdapter adapter{.weights = std::move(weights), .alpha = read_alpha(config), .tensors = {}};
  Reader reader(folder, base, config.flag("use_rslora", false));
  reader.take_all(adapter.weights.tensors());
  adapter.tensors = reader.tensors();
  adapter.unused = reader.unused();
  return adapter;
}

PeftAdapter read_peft(const fs::path& folder, const GgufFile& base) {
  const HfConfig config = HfConfig::open(folder / "adapter_config.json");
  return read_peft(folder, config, SafeTensorsFile::open(folder / "adapter_model.safetensors"), base);
}

}  // namespace ingle
