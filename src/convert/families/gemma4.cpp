// Gemma 4, text: sliding and global layers with sizes of their own, a tail that reads others' caches, per-layer
// embeddings, experts beside the dense MLP.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "convert/families/decoder.h"
#include "convert/family.h"

namespace ingle {
namespace {

struct Layer {
  bool slides;
  int64_t head_dim, kv_heads, d_ff;
};

struct Layers {
  std::vector<Layer> all;
  int64_t shared = 0;    // the last of them, which read the cache of earlier ones
  int64_t head_dim = 0;  // of sliding layers
  int64_t global_dim = 0;
};

// Global layers have sizes of their own: under names of their own, or listed layer by layer.
Layers read_layers(const Draft& draft) {
  const HfConfig& c = draft.config();
  const int64_t count = draft.repeats("num_hidden_layers");
  Layers layers{.shared = c.integer("num_kv_shared_layers", 0), .head_dim = head_size(c, "head_dim")};
  layers.global_dim = head_size(c, "global_head_dim", layers.head_dim);
  const std::vector<std::string> types = c.texts("layer_types");
  if (static_cast<int64_t>(types.size()) != count) c.refuse("layer_types", "as long as num_hidden_layers");
  if (layers.shared < 0 || layers.shared >= count) c.refuse("num_kv_shared_layers", "from 0 to all but one");
  const bool wide = c.flag("use_double_wide_mlp", false), equal = c.flag("attention_k_eq_v", false);
  const std::optional<HfConfig> listed = c.object("per_layer_config");
  for (int64_t i = 0; i < count; ++i) {
    const std::string& type = types[static_cast<size_t>(i)];
    if (type != "sliding_attention" && type != "full_attention")
      c.refuse("layer_types", "a list of sliding_attention and full_attention");
    Layer layer{.slides = type == "sliding_attention",
                .head_dim = layers.head_dim,
                .kv_heads = c.extent("num_key_value_heads"),
                .d_ff = c.extent("intermediate_size")};
    if (!layer.slides) layer.head_dim = layers.global_dim;
    if (!layer.slides && equal) layer.kv_heads = c.extent("num_global_key_value_heads", layer.kv_heads);
    if (wide && i >= count - layers.shared) layer.d_ff *= 2;
    if (const auto own = listed ? listed->object(std::to_string(i)) : std::nullopt) {
      layer.head_dim = head_size(*own, "head_dim", layer.head_dim);
      layer.kv_heads = own->extent("num_key_value_heads", layer.kv_heads);
      layer.d_ff = own->extent("intermediate_size", layer.d_ff);
      if (!layer.slides) layers.global_dim = layer.head_dim;
    }
    if (layer.d_ff > HfConfig::kMostOfAnything)
      c.refuse("intermediate_size", fmt::format("up to {}", HfConfig::kMostOfAnything / 2));
    layers.all.push_back(layer);
  }
  for (const Layer& layer : layers.all)
    if (layer.head_dim != (layer.slides ? layers.head_dim : layers.global_dim))
      c.refuse("per_layer_config", "one that gives all layers of a kind the same head_dim");
  return layers;
}

struct Rope {
  double base, global_base, rotated_share;
};

Rope read_rope(const HfConfig& c) {
  const auto rope = c.object("rope_parameters");
  const auto sliding = rope ? rope->object("sliding_attention") : std::nullopt;
  const auto full = rope ? rope->object("full_attention") : std::nullopt;
  if (!sliding || !full) c.refuse("rope_parameters", "an object with sliding_attention and full_attention");
  return {sliding->number("rope_theta"), full->number("rope_theta"), full->number("partial_rotary_factor", 0.25)};
}

void metadata(Draft& draft, const Layers& layers) {
  const HfConfig& c = draft.config();
  const Rope rope = read_rope(c);
  std::vector<int32_t> d_ff, kv_heads;
  std::vector<bool> slides;
  for (const Layer& layer : layers.all) {
    d_ff.push_back(static_cast<int32_t>(layer.d_ff));
    kv_heads.push_back(static_cast<int32_t>(layer.kv_heads));
    slides.push_back(layer.slides);
  }
  draft.count("block_count", c.integer("num_hidden_layers"));
  draft.count("context_length", c.integer("max_position_embeddings"));
  draft.count("embedding_length", c.integer("hidden_size"));
  draft.per_layer("feed_forward_length", d_ff);
  draft.count("attention.head_count", c.integer("num_attention_heads"));
  draft.per_layer("attention.head_count_kv", kv_heads);
  draft.count("attention.key_length", layers.global_dim);
  draft.count("attention.value_length", layers.global_dim);
  draft.count("attention.key_length_swa", layers.head_dim);
  draft.count("attention.value_length_swa", layers.head_dim);
  draft.count("attention.sliding_window", c.integer("sliding_window"));
  draft.per_layer("attention.sliding_window_pattern", slides);
  draft.count("attention.shared_kv_layers", layers.shared);
  draft.real("attention.layer_norm_rms_epsilon", c.number("rms_norm_eps"));
  draft.count("embedding_length_per_layer_input", c.integer("hidden_size_per_layer_input", 0));
  draft.real("rope.freq_base", rope.global_base);
  draft.real("rope.freq_base_swa", rope.base);
  draft.count("rope.dimension_count", layers.global_dim);
  draft.count("rope.dimension_count_swa", layers.head_dim);
  draft.real("final_logit_softcapping", c.number("final_logit_softcapping", 0));
  draft.count("vocab_size", c.integer("vocab_size"));
  if (c.flag("enable_moe_block", false)) {
    draft.count("expert_count", c.integer("num_experts"));
    draft.count("expert_used_count", c.integer("top_k_experts"));
    draft.count("expert_feed_forward_length", c.integer("moe_intermediate_size"));
  }
  // Only a share of a global head's channels turns: the others' angles are divided until nothing is left of them.
  if (!(rope.rotated_share >= 0 && rope.rotated_share <= 1))
    c.refuse("rope_parameters", "with a partial_rotary_factor up to 1");
  std::vector<float> divisors(static_cast<size_t>(layers.global_dim / 2), 1e30f);
  const int64_t turning = static_cast<int64_t>(rope.rotated_share * static_cast<double>(layers.global_dim)) / 2;
  std::fill_n(divisors.begin(), turning, 1.0f);
  draft.add("rope_freqs.weight", numbers(std::move(divisors)));
}

void block(Draft& draft, const std::string& from, const std::string& to, bool reads_only) {
  static constexpr LinearName kNames[] = {{"attn_norm", "input_layernorm"},
                                          {"attn_q", "self_attn.q_proj"},
                                          {"attn_q_norm", "self_attn.q_norm"},
                                          {"attn_output", "self_attn.o_proj"},
                                          {"post_attention_norm", "post_attention_layernorm"},
                                          {"ffn_norm", "pre_feedforward_layernorm"},
                                          {"ffn_gate", "mlp.gate_proj"},
                                          {"ffn_up", "mlp.up_proj"},
                                          {"ffn_down", "mlp.down_proj"},
                                          {"post_ffw_norm", "post_feedforward_layernorm"}};
  linears(draft, from, to, kNames);
  for (const LinearName& n : {LinearName{"attn_k", "self_attn.k_proj"}, LinearName{"attn_k_norm", "self_attn.k_norm"},
                              LinearName{"attn_v", "self_attn.v_proj"}}) {
    const std::string name = from + n.from;
    if (reads_only) {
      draft.ignore(name + ".weight");  // published files hold them although nobody may use them
    } else if (n.to != std::string_view("attn_v") || draft.has(name + ".weight")) {
      draft.linear(to + n.to, name);
    }
  }
  if (draft.has(from + "layer_scalar")) draft.add(to + "layer_output_scale.weight", draft.rows(from + "layer_scalar"));
}

void experts_beside(Draft& draft, const std::string& from, const std::string& to) {
  router(draft, to, from + "router.proj.weight");
  draft.add(to + "ffn_gate_inp.scale", draft.rows(from + "router.scale"));
  draft.add(to + "ffn_gate_up_exps.weight", draft.rows(from + "experts.gate_up_proj"));
  draft.add(to + "ffn_down_exps.weight", draft.rows(from + "experts.down_proj"));
  draft.add(to + "ffn_down_exps.scale", draft.rows(from + "router.per_expert_scale"));
  static constexpr LinearName kNorms[] = {{"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
                                          {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
                                          {"post_ffw_norm_2", "post_feedforward_layernorm_2"}};
  linears(draft, from, to, kNorms);
}

void gemma4(Draft& draft) {
  const HfConfig& c = draft.config();
  if (c.text("hidden_activation", "gelu_pytorch_tanh") != "gelu_pytorch_tanh")
    c.refuse("hidden_activation", "gelu_pytorch_tanh");
  const Layers layers = read_layers(draft);
  metadata(draft, layers);
  const std::string prefix = decoder_prefix(draft);
  embedding_and_output(draft, prefix);
  const bool per_layer_inputs = c.integer("hidden_size_per_layer_input", 0) > 0;
  if (per_layer_inputs) per_layer_embeddings(draft, prefix);
  const auto count = static_cast<int64_t>(layers.all.size());
  for (int64_t i = 0; i < count; ++i) {
    const std::string from = layer_part(prefix, i), to = block_part(i);
    block(draft, from, to, i >= count - layers.shared);
    if (per_layer_inputs) linears(draft, from, to, kPerLayerInputs);
    if (c.flag("enable_moe_block", false)) experts_beside(draft, from, to);
  }
  leave_out_towers(draft);
}

}  // namespace

std::span<const HfFamily> gemma4_families() {
  static constexpr HfFamily kRows[] = {
      {"Gemma4ForCausalLM", "gemma4", gemma4},
      {"Gemma4ForConditionalGeneration", "gemma4", gemma4},
  };
  return kRows;
}

}  // namespace ingle
