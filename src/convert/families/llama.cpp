// Models of one residual stream: Llama, Mistral, Mixtral, Qwen 2 and 3, Gemma 1 to 3, Phi 3, OLMo 2 and 3, Granite,
// GLM 4. A family is a list of parts under their two names, and what it says in config.json beside the usual.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "convert/families/decoder.h"
#include "convert/family.h"

namespace ingle {
namespace {

using Storage = DraftTensor::Storage;

struct Part {
  // kUnit: a gain that is stored less one. kPairedQ, kPairedK: rows go from halves to adjacent pairs.
  enum class Kind { kAsIs, kUnit, kPairedQ, kPairedK };

  const char *to, *from;
  Kind kind = Kind::kAsIs;
  bool may_lack = false;
};

using enum Part::Kind;

constexpr Part kLlama[] = {
    {"attn_norm", "input_layernorm"},         {"attn_q", "self_attn.q_proj", kPairedQ},
    {"attn_k", "self_attn.k_proj", kPairedK}, {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},      {"ffn_norm", "post_attention_layernorm"},
};
constexpr Part kQwen[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm", kAsIs, true},
    {"attn_k_norm", "self_attn.k_norm", kAsIs, true},
    {"ffn_norm", "post_attention_layernorm"},
};
constexpr Part kFirstGemma[] = {
    {"attn_norm", "input_layernorm", kUnit}, {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},          {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},     {"ffn_norm", "post_attention_layernorm", kUnit},
};
constexpr Part kGemma[] = {
    {"attn_norm", "input_layernorm", kUnit},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm", kUnit, true},
    {"attn_k_norm", "self_attn.k_norm", kUnit, true},
    {"post_attention_norm", "post_attention_layernorm", kUnit},
    {"ffn_norm", "pre_feedforward_layernorm", kUnit},
    {"post_ffw_norm", "post_feedforward_layernorm", kUnit},
};
constexpr Part kPhi[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
};
constexpr Part kOlmo[] = {
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};
constexpr Part kGlm[] = {
    {"attn_norm", "input_layernorm"},         {"attn_q", "self_attn.q_proj"},  // adjacent pairs as they are
    {"attn_k", "self_attn.k_proj"},           {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},      {"post_attention_norm", "post_self_attn_layernorm"},
    {"ffn_norm", "post_attention_layernorm"}, {"post_ffw_norm", "post_mlp_layernorm"},
};
constexpr Part kMlp[] = {{"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
constexpr Part kFusedMlp[] = {{"ffn_up", "mlp.gate_up_proj"}, {"ffn_down", "mlp.down_proj"}};

void add_part(Draft& draft, const Part& part, const std::string& from, const std::string& to,
              const DecoderSizes& sizes) {
  if (part.may_lack && !draft.has(fmt::format("{}{}.weight", from, part.from))) return;
  const auto change = [&](Rows rows) {
    if (part.kind == kUnit) return plus(std::move(rows), 1);
    if (part.kind == kAsIs) return rows;
    const int64_t heads = part.kind == kPairedQ ? sizes.heads : sizes.kv_heads;
    if (rows.shape[0] % (2 * heads) != 0)
      throw_error(ErrorCode::kInvalidFile, "{}{}: its shape {} does not divide into {} heads of pairs", from, part.from,
                  to_string(rows.shape), heads);
    return paired(std::move(rows), heads);
  };
  draft.linear(to + part.to, from + part.from, change);
}

// Embedding, output, and in every layer the parts; `rest` adds what is not in the list.
template <class Rest>
void layers_and(Draft& draft, const DecoderSizes& sizes, std::span<const Part> parts, Rest rest, float norm_less = 0) {
  const std::string prefix = decoder_prefix(draft);
  embedding_and_output(draft, prefix, norm_less);
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string from = layer_part(prefix, i), to = block_part(i);
    for (const Part& part : parts) add_part(draft, part, from, to, sizes);
    draft.ignore(from + "self_attn.rotary_emb.inv_freq");  // of old files; it follows from the settings
    rest(from, to);
  }
}

void layers(Draft& draft, const DecoderSizes& sizes, std::span<const Part> parts, std::span<const Part> mlp,
            float norm_less = 0) {
  layers_and(
      draft, sizes, parts,
      [&](const std::string& from, const std::string& to) {
        for (const Part& part : mlp) add_part(draft, part, from, to, sizes);
      },
      norm_less);
}

void must_be(const HfConfig& c, std::string_view key, std::string_view usual) {
  if (c.text(key, usual) != usual) c.refuse(key, usual);
}

// A window, and which layers have it where not all do.
void window_keys(Draft& draft) {
  const HfConfig& c = draft.config();
  std::vector<bool> slides = sliding_layers(c);
  // Qwen's files name a window that only counts when another setting says so, and from some layer on.
  if (!c.has("sliding_window") || !c.flag("use_sliding_window", true)) {
    if (std::ranges::count(slides, true) > 0) c.refuse("sliding_window", "a number: there are sliding layers");
    return;
  }
  if (slides.empty()) {
    slides.assign(static_cast<size_t>(c.integer("num_hidden_layers")), true);
    const int64_t full = std::clamp<int64_t>(c.integer("max_window_layers", 0), 0, std::ssize(slides));
    std::fill_n(slides.begin(), full, false);
  }
  if (std::ranges::count(slides, true) == 0) return;
  draft.count("attention.sliding_window", c.integer("sliding_window"));
  if (std::ranges::count(slides, false) > 0) draft.per_layer("attention.sliding_window_pattern", slides);
}

void llama(Draft& draft) {
  const HfConfig& c = draft.config();
  must_be(c, "hidden_act", "silu");
  const DecoderSizes sizes = decoder_keys(draft);
  window_keys(draft);
  rope_keys(draft, sizes.head_dim);
  const int64_t count = c.integer("num_local_experts", 0);
  if (count == 0) return layers(draft, sizes, kLlama, kMlp);
  draft.count("expert_count", count);  // Mixtral
  draft.count("expert_used_count", c.integer("num_experts_per_tok"));
  layers_and(draft, sizes, kLlama, [&](const std::string& from, const std::string& to) {
    const bool published = draft.has(from + "block_sparse_moe.gate.weight");
    const std::string mixture = from + (published ? "block_sparse_moe." : "mlp.");
    router(draft, to, mixture + "gate.weight");
    experts(draft, mixture, to, count, {"w1", "w3", "w2"});
  });
}

// A Mistral that also sees.
void mistral3(Draft& draft) {
  must_be(draft.config(), "model_type", "mistral");  // of the text part; Ministral 3 scales queries by their position
  llama(draft);
  leave_out_towers(draft);
}

void qwen(Draft& draft) {
  const HfConfig& c = draft.config();
  must_be(c, "hidden_act", "silu");
  const DecoderSizes sizes = decoder_keys(draft);
  if (c.flag("use_sliding_window", false)) window_keys(draft);
  rope_keys(draft, sizes.head_dim);
  const int64_t count = c.integer("num_experts", c.integer("num_local_experts", 0));
  if (count == 0) return layers(draft, sizes, kQwen, kMlp);
  if (!c.numbers("mlp_only_layers").empty()) c.refuse("mlp_only_layers", "empty: every layer needs its experts");
  if (c.integer("decoder_sparse_step", 1) != 1) c.refuse("decoder_sparse_step", "1");
  draft.count("expert_count", count);
  draft.count("expert_used_count", c.integer("num_experts_per_tok"));
  draft.count("expert_feed_forward_length", c.integer("moe_intermediate_size"));
  if (const int64_t shared = c.integer("shared_expert_intermediate_size", 0); shared > 0)
    draft.count("expert_shared_feed_forward_length", shared);
  draft.flag("expert_weights_norm", c.flag("norm_topk_prob", false));
  constexpr Part kShared[] = {{"ffn_gate_shexp", "mlp.shared_expert.gate_proj", kAsIs, true},
                              {"ffn_up_shexp", "mlp.shared_expert.up_proj", kAsIs, true},
                              {"ffn_down_shexp", "mlp.shared_expert.down_proj", kAsIs, true}};
  layers_and(draft, sizes, kQwen, [&](const std::string& from, const std::string& to) {
    router(draft, to, from + "mlp.gate.weight");
    experts(draft, from + "mlp.", to, count, {"gate_proj", "up_proj", "down_proj"});
    for (const Part& part : kShared) add_part(draft, part, from, to, sizes);
    if (const std::string gate = from + "mlp.shared_expert_gate.weight"; draft.has(gate))
      draft.add(to + "ffn_gate_inp_shexp.weight", draft.rows(gate), Storage::kFloat);
  });
}

// Of ropes that differ between kinds of layers, that of one kind.
std::optional<HfConfig> rope_of(const HfConfig& c, std::string_view kind) {
  const std::optional<HfConfig> ropes = c.object("rope_parameters");
  return ropes ? ropes->object(kind) : std::nullopt;
}

// Of the layers that see everything.
void full_rope_keys(Draft& draft, const DecoderSizes& sizes) {
  if (const std::optional<HfConfig> full = rope_of(draft.config(), "full_attention"))
    return rope_keys(draft, sizes.head_dim, *full);
  rope_keys(draft, sizes.head_dim);
}

void first_gemma(Draft& draft) {
  const HfConfig& c = draft.config();
  must_be(c, "hidden_activation", "gelu_pytorch_tanh");
  if (c.text("hidden_act", "gelu") != "gelu") must_be(c, "hidden_act", "gelu_pytorch_tanh");  // old files mean the same
  if (c.flag("use_bidirectional_attention", false)) c.refuse("use_bidirectional_attention", "false");
  const DecoderSizes sizes = decoder_keys(draft);
  rope_keys(draft, sizes.head_dim);
  layers(draft, sizes, kFirstGemma, kMlp, 1);
}

void gemma_keys(Draft& draft, const DecoderSizes& sizes, int64_t usual_period) {
  const HfConfig& c = draft.config();
  must_be(c, "hidden_activation", "gelu_pytorch_tanh");
  draft.count("attention.sliding_window", c.integer("sliding_window"));
  if (const std::vector<bool> slides = sliding_layers(c); !slides.empty()) {
    const int64_t period = period_of(slides);
    if (period == 0) c.refuse("layer_types", "a pattern that ends with full_attention and repeats");
    if (period != usual_period) draft.count("attention.sliding_window_pattern", period);
  }
  // Scores are scaled by the head's size, unless it says otherwise.
  const double scalar = c.number("query_pre_attn_scalar", static_cast<double>(sizes.head_dim));
  if (!(scalar > 0)) c.refuse("query_pre_attn_scalar", "above 0");
  if (scalar != static_cast<double>(sizes.head_dim)) draft.real("attention.scale", 1 / std::sqrt(scalar));
}

void gemma2(Draft& draft) {
  const HfConfig& c = draft.config();
  const DecoderSizes sizes = decoder_keys(draft);
  gemma_keys(draft, sizes, 2);
  draft.real("attn_logit_softcapping", c.number("attn_logit_softcapping", 0));
  draft.real("final_logit_softcapping", c.number("final_logit_softcapping", 0));
  rope_keys(draft, sizes.head_dim);
  layers(draft, sizes, kGemma, kMlp, 1);
}

void gemma3(Draft& draft) {
  const HfConfig& c = draft.config();
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (c.number(cap, 0) != 0) c.refuse(cap, "null");
  const DecoderSizes sizes = decoder_keys(draft);
  gemma_keys(draft, sizes, 6);
  // Sliding layers have a rope of their own.
  const std::optional<HfConfig> sliding = rope_of(c, "sliding_attention");
  full_rope_keys(draft, sizes);
  draft.real("rope.freq_base_swa", sliding ? sliding->number("rope_theta") : c.number("rope_local_base_freq", 10000));
  layers(draft, sizes, kGemma, kMlp, 1);
  leave_out_towers(draft);
}

void phi3(Draft& draft) {
  const HfConfig& c = draft.config();
  must_be(c, "hidden_act", "silu");
  const DecoderSizes sizes = decoder_keys(draft);
  window_keys(draft);
  rope_keys(draft, sizes.head_dim);
  layers(draft, sizes, kPhi, kFusedMlp);
}

// OLMo 3 has windows, and where it has them a rope that is not stretched.
void olmo(Draft& draft) {
  const HfConfig& c = draft.config();
  must_be(c, "hidden_act", "silu");
  if (c.has("sliding_window") && !c.has("layer_types")) c.refuse("sliding_window", "null, or layer_types a list");
  const DecoderSizes sizes = decoder_keys(draft);
  window_keys(draft);
  full_rope_keys(draft, sizes);
  const std::optional<HfConfig> sliding = rope_of(c, "sliding_attention"), full = rope_of(c, "full_attention");
  if (sliding && full) {
    must_be(*sliding, "rope_type", "default");
    if (sliding->number("rope_theta") != full->number("rope_theta"))
      sliding->refuse("rope_theta", "that of full_attention");
  }
  layers(draft, sizes, kOlmo, kMlp);
}

void glm4(Draft& draft) {
  must_be(draft.config(), "hidden_act", "silu");
  const DecoderSizes sizes = decoder_keys(draft);
  rope_keys(draft, sizes.head_dim);
  layers(draft, sizes, kGlm, kFusedMlp);
}

void granite(Draft& draft) {
  const HfConfig& c = draft.config();
  must_be(c, "hidden_act", "silu");
  const DecoderSizes sizes = decoder_keys(draft);
  rope_keys(draft, sizes.head_dim);
  draft.real("embedding_scale", c.number("embedding_multiplier", 1));
  draft.real("residual_scale", c.number("residual_multiplier", 1));
  draft.real("attention.scale", c.number("attention_multiplier", 1));
  draft.real("logit_scale", c.number("logits_scaling", 1));
  const int64_t count = c.integer("num_local_experts", 0);
  if (count == 0) return layers(draft, sizes, kLlama, kMlp);
  const int64_t shared = c.integer("shared_intermediate_size", 0);
  draft.count("expert_count", count);
  draft.count("expert_used_count", c.integer("num_experts_per_tok"));
  draft.count("expert_feed_forward_length", sizes.d_ff);
  if (shared > 0) draft.count("expert_shared_feed_forward_length", shared);
  layers_and(draft, sizes, kLlama, [&](const std::string& from, const std::string& to) {
    const std::string mixture = from + "block_sparse_moe.";
    router(draft, to, mixture + "router.layer.weight");
    gate_and_up(draft, mixture + "input_linear.weight", to + "ffn_gate_exps.weight", to + "ffn_up_exps.weight");
    draft.add(to + "ffn_down_exps.weight", draft.rows(mixture + "output_linear.weight"));
    if (shared == 0) return;
    gate_and_up(draft, from + "shared_mlp.input_linear.weight", to + "ffn_gate_shexp.weight",
                to + "ffn_up_shexp.weight");
    draft.add(to + "ffn_down_shexp.weight", draft.rows(from + "shared_mlp.output_linear.weight"));
  });
}

}  // namespace

std::span<const HfFamily> llama_families() {
  constexpr bool kPairsHeads = true;  // made of kLlama
  static constexpr HfFamily kRows[] = {
      {"LlamaForCausalLM", "llama", llama, "", kPairsHeads},
      {"MistralForCausalLM", "llama", llama, "", kPairsHeads},
      {"MinistralForCausalLM", "llama", llama, "", kPairsHeads},
      {"Mistral3ForConditionalGeneration", "llama", mistral3, "", kPairsHeads},
      {"MixtralForCausalLM", "llama", llama, "", kPairsHeads},
      {"Qwen2ForCausalLM", "qwen2", qwen},
      {"Qwen2MoeForCausalLM", "qwen2moe", qwen},
      {"Qwen3ForCausalLM", "qwen3", qwen},
      {"Qwen3Model", "qwen3", qwen},  // for embeddings
      {"Qwen3MoeForCausalLM", "qwen3moe", qwen},
      {"GemmaForCausalLM", "gemma", first_gemma},
      {"Gemma2ForCausalLM", "gemma2", gemma2},
      {"Gemma3ForCausalLM", "gemma3", gemma3},
      {"Gemma3ForConditionalGeneration", "gemma3", gemma3},
      {"Phi3ForCausalLM", "phi3", phi3},
      {"Olmo2ForCausalLM", "olmo2", olmo},
      {"Olmo3ForCausalLM", "olmo2", olmo},
      {"Glm4ForCausalLM", "glm4", glm4},
      {"GraniteForCausalLM", "granite", granite, "", kPairsHeads},
      {"GraniteMoeForCausalLM", "granitemoe", granite, "", kPairsHeads},
      {"GraniteMoeSharedForCausalLM", "granitemoe", granite, "", kPairsHeads},
  };
  return kRows;
}

}  // namespace ingle
