#include "models/hparams.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace ingle {
namespace {

constexpr int64_t kMaxLayers = 512;
// Far above any model there is; products of three of them stay inside int64.
constexpr int64_t kMaxExtent = int64_t{1} << 20;

// Keys under one architecture's prefix.
class Keys {
 public:
  Keys(const GgufFile& file, std::string architecture) : file_(file), architecture_(std::move(architecture)) {}

  std::string name(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

  int64_t checked(std::string_view key, int64_t value, int64_t least, int64_t most) const {
    if (value < least || value > most) {
      throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be from {} to {}", file_.path(), name(key),
                  value, least, most);
    }
    return value;
  }
  int64_t get(std::string_view key, int64_t least, int64_t most) const {
    return checked(key, file_.get_int(name(key)), least, most);
  }
  int64_t find(std::string_view key, int64_t absent, int64_t least, int64_t most) const {
    return checked(key, file_.find_int(name(key)).value_or(absent), least, most);
  }
  // Finite and in (0, most].
  double positive(std::string_view key, double value, double most) const {
    if (!(value > 0 && value <= most)) {
      throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be above 0 and at most {}", file_.path(),
                  name(key), value, most);
    }
    return value;
  }
  double find_positive(std::string_view key, double absent, double most) const {
    return positive(key, file_.find_float(name(key)).value_or(absent), most);
  }
  bool has(std::string_view key) const { return file_.find_value(name(key)) != nullptr; }

  // A number for all layers, or an array with one for each.
  std::vector<int64_t> per_layer(std::string_view key, int64_t layers, int64_t least, int64_t most) const {
    const GgufValue* value = file_.find_value(name(key));
    if (value == nullptr || value->type != GgufValue::Type::kArray)
      return std::vector<int64_t>(static_cast<size_t>(layers), get(key, least, most));
    std::vector<int64_t> all = *file_.find_ints(name(key));
    if (static_cast<int64_t>(all.size()) != layers) {
      throw_error(ErrorCode::kInvalidFile, "{}: key '{}' has {} elements, the model has {} blocks", file_.path(),
                  name(key), all.size(), layers);
    }
    for (int64_t element : all) checked(key, element, least, most);
    return all;
  }

  const GgufFile& file() const { return file_; }

 private:
  const GgufFile& file_;
  std::string architecture_;
};

// Which layers see only a window: all of them, unless a pattern says otherwise. A period n means that the last of every
// n layers sees everything (1: all do, 0: none does); an array of booleans says it layer by layer.
std::vector<int32_t> read_windows(const Keys& keys, int64_t layers) {
  const auto window =
      static_cast<int32_t>(keys.find("attention.sliding_window", 0, 0, std::numeric_limits<int32_t>::max()));
  std::vector<int32_t> windows(static_cast<size_t>(layers), window);
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  if (window == 0 || !keys.has(kPattern)) return windows;
  if (keys.file().find_value(keys.name(kPattern))->type == GgufValue::Type::kArray) {
    const std::vector<int64_t> slides = keys.per_layer(kPattern, layers, 0, 1);
    for (size_t i = 0; i < windows.size(); ++i) windows[i] = slides[i] != 0 ? window : 0;
  } else {
    const int64_t period = keys.get(kPattern, 0, kMaxLayers);
    for (size_t i = 0; i < windows.size() && period > 0; ++i) {
      if (static_cast<int64_t>(i) % period == period - 1) windows[i] = 0;
    }
  }
  return windows;
}

RopeHparams read_rope(const Keys& keys, const Hparams& h) {
  RopeHparams rope;
  rope.rotated = keys.find("rope.dimension_count", h.k_dim, 2, h.k_dim);
  if (rope.rotated % 2 != 0) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be even", h.file,
                keys.name("rope.dimension_count"), rope.rotated);
  }
  rope.base = keys.find_positive("rope.freq_base", 10000, 1e15);
  rope.original_context = keys.find("rope.scaling.original_context_length", h.context_length, 1, int64_t{1} << 40);

  const std::string type(keys.file().find_string(keys.name("rope.scaling.type")).value_or("linear"));
  double factor = keys.file().find_float(keys.name("rope.scaling.factor")).value_or(0);
  if (factor == 0) factor = keys.file().find_float(keys.name("rope.scale_linear")).value_or(0);
  rope.factor = factor == 0 ? 1 : keys.positive("rope.scaling.factor", factor, 1e6);
  if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    const auto number = [&](std::string_view key, double absent) {
      const double value = keys.file().find_float(keys.name(key)).value_or(absent);
      if (!std::isfinite(value) || value < 0) {
        throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be 0 or more", h.file, keys.name(key), value);
      }
      return value;
    };
    rope.extrapolation = number("rope.scaling.yarn_ext_factor", 1);
    rope.log_multiplier = number("rope.scaling.yarn_log_multiplier", 0);
    rope.beta_fast = keys.find_positive("rope.scaling.yarn_beta_fast", 32, 1e6);
    rope.beta_slow = keys.find_positive("rope.scaling.yarn_beta_slow", 1, 1e6);
  } else if (type == "linear") {
    rope.scaling = rope.factor == 1 ? RopeScaling::kNone : RopeScaling::kLinear;
  } else if (type == "none") {
    rope.factor = 1;
  } else {
    throw_error(ErrorCode::kUnsupported, "{}: key '{}' is \"{}\"; known are none, linear, yarn", h.file,
                keys.name("rope.scaling.type"), type);
  }
  rope.attention_factor = keys.find_positive("rope.scaling.attn_factor", 1, 1e6);
  return rope;
}

int64_t read_vocab(const Keys& keys) {
  const GgufFile& file = keys.file();
  const std::optional<ConstTensorView> embedding = file.find("token_embd.weight");
  if (!embedding) throw_error(ErrorCode::kInvalidFile, "{}: tensor token_embd.weight is missing", file.path());
  const int64_t vocab = embedding->shape.rows();
  if (vocab < 1 || vocab > std::numeric_limits<int32_t>::max()) {
    throw_error(ErrorCode::kInvalidFile, "{}: token_embd.weight has {} rows, one per token, it must be from 1 to {}",
                file.path(), vocab, std::numeric_limits<int32_t>::max());
  }
  if (const auto size = file.find_int(keys.name("vocab_size")); size && *size != vocab) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, token_embd.weight has {} rows", file.path(),
                keys.name("vocab_size"), *size, vocab);
  }
  if (const auto tokens = file.find_strings("tokenizer.ggml.tokens");
      tokens && static_cast<int64_t>(tokens->size()) > vocab) {
    throw_error(ErrorCode::kInvalidFile, "{}: {} tokens, token_embd.weight has {} rows", file.path(), tokens->size(),
                vocab);
  }
  return vocab;
}

}  // namespace

Hparams read_hparams(const GgufFile& file) {
  Hparams h;
  h.file = file.path();
  h.architecture = file.get_string("general.architecture");
  const Keys keys(file, h.architecture);

  const int64_t layers = keys.get("block_count", 1, kMaxLayers);
  h.d_model = keys.get("embedding_length", 1, kMaxExtent);
  h.context_length = keys.get("context_length", 1, std::numeric_limits<int32_t>::max());
  h.norm_eps = static_cast<float>(keys.positive("attention.layer_norm_rms_epsilon",
                                                file.get_float(keys.name("attention.layer_norm_rms_epsilon")), 1));
  h.experts = keys.find("expert_count", 0, 0, 1024);

  const std::vector<int64_t> heads = keys.per_layer("attention.head_count", layers, 1, kMaxExtent);
  const std::vector<int64_t> kv_heads =
      keys.has("attention.head_count_kv") ? keys.per_layer("attention.head_count_kv", layers, 1, kMaxExtent) : heads;
  const std::vector<int64_t> d_ff = keys.per_layer("feed_forward_length", layers, 1, kMaxExtent);
  const std::vector<int32_t> windows = read_windows(keys, layers);
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] % kv_heads[i] != 0) {
      throw_error(ErrorCode::kInvalidFile, "{}: block {} has {} heads, not a multiple of its {} key/value heads",
                  h.file, i, heads[i], kv_heads[i]);
    }
    h.layers.push_back({heads[i], kv_heads[i], d_ff[i], windows[i]});
  }

  if (!keys.has("attention.key_length") && h.d_model % heads[0] != 0) {
    throw_error(ErrorCode::kInvalidFile, "{}: {} channels do not divide into {} heads, and there is no key '{}'",
                h.file, h.d_model, heads[0], keys.name("attention.key_length"));
  }
  h.k_dim = keys.find("attention.key_length", h.d_model / heads[0], 1, 65536);
  h.v_dim =
      keys.find("attention.value_length", keys.has("attention.key_length") ? h.k_dim : h.d_model / heads[0], 1, 65536);
  h.rope = read_rope(keys, h);

  const double scale = file.find_float(keys.name("attention.scale")).value_or(0);
  h.attention_scale = static_cast<float>(scale == 0 ? 1 / std::sqrt(static_cast<double>(h.k_dim))
                                                    : keys.positive("attention.scale", scale, 1e6));
  h.vocab = read_vocab(keys);
  return h;
}

}  // namespace ingle
