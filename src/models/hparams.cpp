#include "models/hparams.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "models/rope.h"

namespace ingle {
namespace {

constexpr int64_t kMaxHeadDim = 65536;

// Which layers see only a window: all of them, unless a pattern says otherwise. A period n means that the last of every
// n layers sees everything (1: all do, 0: none does); an array of booleans says it layer by layer.
std::vector<int32_t> read_windows(const Keys& keys, int64_t layers, int64_t default_period) {
  const auto window =
      static_cast<int32_t>(keys.find("attention.sliding_window", 0, 0, std::numeric_limits<int32_t>::max()));
  std::vector<int32_t> windows(static_cast<size_t>(layers), window);
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  if (window == 0) return windows;
  if (keys.has(kPattern) && keys.file().find_value(keys.name(kPattern))->type == GgufValue::Type::kArray) {
    const std::vector<int64_t> slides = keys.per_layer(kPattern, layers, 0, 1);
    for (size_t i = 0; i < windows.size(); ++i) windows[i] = slides[i] != 0 ? window : 0;
  } else {
    const int64_t period = keys.find(kPattern, default_period, 0, kMaxLayers);
    for (size_t i = 0; i < windows.size() && period > 0; ++i) {
      if (static_cast<int64_t>(i) % period == period - 1) windows[i] = 0;
    }
  }
  return windows;
}

// Attention of a kind that the graph would not compute is refused. `window`: of sliding layers; 0: there are none.
void check_attention(const Hparams& h, const Keys& keys, int32_t window, const HparamDefaults& defaults) {
  constexpr std::string_view kWindow = "attention.sliding_window";
  if (window != 0 && !defaults.windows) {
    throw_error(ErrorCode::kUnsupported, "{}: key '{}' is {}; sliding windows are not implemented for {}", h.file,
                keys.name(kWindow), window, h.architecture);
  }
  if (window != 0 && !h.causal) {
    throw_error(ErrorCode::kUnsupported, "{}: a sliding window ('{}') of a model that reads in both directions", h.file,
                keys.name(kWindow));
  }
  if (!h.causal && !defaults.both_directions) {
    throw_error(ErrorCode::kUnsupported, "{}: key '{}' is false; reading in both directions is not implemented for {}",
                h.file, keys.name("attention.causal"), h.architecture);
  }
}

// The last `shared` layers read the cache of the last layer of their kind (sliding or not) that writes.
void share_caches(Hparams& h, const Keys& keys, bool may) {
  const int64_t shared = keys.find_count("attention.shared_kv_layers", 0, 0, h.layer_count() - 1);
  if (shared > 0 && !may) {
    throw_error(ErrorCode::kUnsupported, "{}: key '{}' is {}; layers without a cache are not implemented for {}",
                h.file, keys.name("attention.shared_kv_layers"), shared, h.architecture);
  }
  const auto first = static_cast<size_t>(h.layer_count() - shared);
  for (size_t i = 0; i < h.layers.size(); ++i) {
    LayerHparams& layer = h.layers[i];
    layer.kv_owner = static_cast<int>(i);
    if (i < first) continue;
    size_t owner = first;
    while (owner > 0 && h.layers[owner - 1].window != layer.window) --owner;
    if (owner == 0) {
      throw_error(ErrorCode::kInvalidFile,
                  "{}: block {} shares the cache of an earlier block of its kind, but none of the first {} is", h.file,
                  i, first);
    }
    layer.kv_owner = static_cast<int>(owner - 1);
    const LayerHparams& of = h.layers[owner - 1];
    if (of.k_dim != layer.k_dim || of.v_dim != layer.v_dim || layer.heads % of.kv_heads != 0) {
      throw_error(ErrorCode::kInvalidFile,
                  "{}: block {} ({} heads of {} and {}) cannot read the cache of block {} ({} heads of {} and {})",
                  h.file, i, layer.heads, layer.k_dim, layer.v_dim, layer.kv_owner, of.kv_heads, of.k_dim, of.v_dim);
    }
  }
}

int64_t even(const Keys& keys, std::string_view key, int64_t value) {
  if (value % 2 != 0) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be even", keys.file().path(), keys.name(key),
                value);
  }
  return value;
}

RopeHparams read_rope(const Keys& keys, const Hparams& h, int64_t k_dim, const HparamDefaults& defaults) {
  RopeHparams rope;
  rope.rotated = even(keys, "rope.dimension_count", keys.find("rope.dimension_count", k_dim, 2, k_dim));
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
    rope.whole_pairs = defaults.whole_yarn_pairs;
  } else if (type == "linear") {
    rope.scaling = rope.factor == 1 ? RopeScaling::kNone : RopeScaling::kLinear;
  } else if (type == "longrope") {  // factors are tensors
    rope.scaling = RopeScaling::kLong;
    rope.factor = 1;
  } else if (type == "none") {
    rope.factor = 1;
  } else {
    throw_error(ErrorCode::kUnsupported, "{}: key '{}' is \"{}\"; known are none, linear, yarn, longrope", h.file,
                keys.name("rope.scaling.type"), type);
  }
  rope.attention_factor = keys.find_positive("rope.scaling.attn_factor", 1, 1e6);
  if (defaults.whole_attention_factor && type == "yarn" && keys.has("rope.scaling.attn_factor"))
    rope.attention_factor /= yarn_magnitude(rope.factor, 1);
  return rope;
}

float read_cap(const Keys& keys, std::string_view key, double absent) {
  const double cap = keys.find_float(key, absent);
  return static_cast<float>(cap == 0 ? 0 : keys.positive(key, cap, 1e6));
}

// 0 is how some writers say that there is none.
float read_factor(const Keys& keys, std::string_view key, double absent) {
  const double factor = keys.find_float(key, absent);
  return static_cast<float>(factor == 0 ? 1 : keys.positive(key, factor, 1e6));
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

int Hparams::last_writer() const noexcept {
  int last = 0;
  for (const LayerHparams& layer : layers) last = std::max(last, layer.kv_owner);
  return last;
}

Hparams read_hparams(const GgufFile& file, const HparamDefaults& defaults) {
  Hparams h;
  h.file = file.path();
  h.architecture = file.get_string("general.architecture");
  const Keys keys(file, h.architecture);

  const int64_t layers = keys.get("block_count", 1, kMaxLayers);
  h.d_model = keys.get("embedding_length", 1, kMaxExtent);
  h.context_length = keys.get("context_length", 1, std::numeric_limits<int32_t>::max());
  const char* eps = defaults.layer_norms ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  h.norm_eps = static_cast<float>(keys.positive(eps, file.get_float(keys.name(eps)), 1));
  h.causal = file.find_bool(keys.name("attention.causal")).value_or(defaults.causal);
  h.experts = keys.find("expert_count", 0, 0, 1024);
  h.experts_used = keys.find("expert_used_count", 0, 0, h.experts);
  h.expert_d_ff = keys.find("expert_feed_forward_length", 0, 0, kMaxExtent);
  h.shared_expert_d_ff = keys.find("expert_shared_feed_forward_length", 0, 0, kMaxExtent);
  h.expert_weights_norm = file.find_bool(keys.name("expert_weights_norm")).value_or(defaults.expert_weights_norm);
  h.attention_soft_cap = read_cap(keys, "attn_logit_softcapping", defaults.attention_soft_cap);
  h.logit_soft_cap = read_cap(keys, "final_logit_softcapping", defaults.logit_soft_cap);
  const double width = std::sqrt(static_cast<double>(h.d_model));
  h.embedding_scale = read_factor(keys, "embedding_scale", defaults.embeddings_by_width ? width : 1);
  h.residual_scale = read_factor(keys, "residual_scale", 1);
  h.logit_scale = read_factor(keys, "logit_scale", 1);

  const std::vector<int64_t> heads = keys.per_layer("attention.head_count", layers, 1, kMaxExtent);
  const std::vector<int64_t> kv_heads =
      keys.has("attention.head_count_kv") ? keys.per_layer("attention.head_count_kv", layers, 1, kMaxExtent) : heads;
  const std::vector<int64_t> d_ff = keys.per_layer("feed_forward_length", layers, 1, kMaxExtent);
  const std::vector<int32_t> windows = read_windows(keys, layers, defaults.window_period);
  check_attention(h, keys, *std::ranges::max_element(windows), defaults);
  const bool says_head_dim = keys.has("attention.key_length") || keys.has("head_dim");
  if (!says_head_dim && h.d_model % heads[0] != 0) {
    throw_error(ErrorCode::kInvalidFile, "{}: {} channels do not divide into {} heads, and there is no key '{}'",
                h.file, h.d_model, heads[0], keys.name("attention.key_length"));
  }
  const int64_t head_dim = keys.find("head_dim", std::max<int64_t>(1, h.d_model / heads[0]), 1, kMaxHeadDim);
  const int64_t k_dim = keys.find("attention.key_length", head_dim, 1, kMaxHeadDim);
  const int64_t v_dim = keys.find("attention.value_length", says_head_dim ? k_dim : head_dim, 1, kMaxHeadDim);
  int64_t window_k_dim = k_dim, window_v_dim = v_dim;
  if (defaults.windows_differ) {
    window_k_dim = keys.find("attention.key_length_swa", k_dim, 1, kMaxHeadDim);
    window_v_dim = keys.find("attention.value_length_swa", v_dim, 1, kMaxHeadDim);
  }
  const double scale = keys.find_float("attention.scale", defaults.attention_scale);
  if (scale != 0) keys.positive("attention.scale", scale, 1e6);
  const bool by_width = layers == defaults.scaled_by_width;
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] % kv_heads[i] != 0) {
      throw_error(ErrorCode::kInvalidFile, "{}: block {} has {} heads, not a multiple of its {} key/value heads",
                  h.file, i, heads[i], kv_heads[i]);
    }
    LayerHparams layer{.heads = heads[i],
                       .kv_heads = kv_heads[i],
                       .k_dim = windows[i] != 0 ? window_k_dim : k_dim,
                       .v_dim = windows[i] != 0 ? window_v_dim : v_dim,
                       .d_ff = d_ff[i],
                       .window = windows[i]};
    const double channels =
        by_width ? static_cast<double>(h.d_model) / static_cast<double>(layer.heads) : static_cast<double>(layer.k_dim);
    layer.attention_scale = static_cast<float>(scale == 0 ? 1 / std::sqrt(channels) : scale);
    h.layers.push_back(layer);
  }
  share_caches(h, keys, defaults.shares_caches);

  h.rope = h.window_rope = read_rope(keys, h, k_dim, defaults);
  if (defaults.windows_differ) {
    constexpr std::string_view kDims = "rope.dimension_count_swa";
    h.window_rope = {
        .rotated = even(keys, kDims, keys.find(kDims, window_k_dim, 2, window_k_dim)),
        .base = keys.find_positive("rope.freq_base_swa", keys.find_float("rope.freq_base_local", 10000), 1e15),
        .original_context = h.context_length};
  }
  if (defaults.windows_unstretched)
    h.window_rope = {.rotated = h.rope.rotated, .base = h.rope.base, .original_context = h.rope.original_context};
  h.vocab = read_vocab(keys);
  return h;
}

}  // namespace ingle
