// DeepSeek V2 and V3: attention over one latent row per position. The matrix that makes keys and values of it is kept
// in two, that of the keys transposed, because attention uses them so.
#include <fmt/format.h>

#include "base/error.h"
#include "convert/families/decoder.h"
#include "convert/family.h"

namespace ingle {
namespace {

struct Latent {
  int64_t heads, rank, q_rank, plain, turned, value;
};

Latent latent_keys(Draft& draft, const DecoderSizes& sizes) {
  const HfConfig& c = draft.config();
  const Latent l{.heads = sizes.heads,
                 .rank = c.extent("kv_lora_rank"),
                 .q_rank = c.integer("q_lora_rank", 0),
                 .plain = c.extent("qk_nope_head_dim"),
                 .turned = head_size(c, "qk_rope_head_dim"),
                 .value = c.extent("v_head_dim")};
  // The sizes of the cached row, as attention sees it, and of a head.
  draft.count("attention.head_count_kv", 1);
  draft.count("attention.key_length", l.rank + l.turned);
  draft.count("attention.value_length", l.rank);
  draft.count("attention.key_length_mla", l.plain + l.turned);
  draft.count("attention.value_length_mla", l.value);
  draft.count("attention.kv_lora_rank", l.rank);
  if (l.q_rank > 0) draft.count("attention.q_lora_rank", l.q_rank);
  return l;
}

// With sigmoids and a bias that only chooses, or with softmax; both may choose among the best groups only.
void expert_keys(Draft& draft, bool sigmoids) {
  const HfConfig& c = draft.config();
  const std::string method = c.text("topk_method", sigmoids ? "noaux_tc" : "greedy");
  const bool grouped = sigmoids || method == "group_limited_greedy";
  if (sigmoids ? method != "noaux_tc" : !grouped && method != "greedy")
    c.refuse("topk_method", sigmoids ? "noaux_tc" : "greedy or group_limited_greedy");
  if (c.text("scoring_func", sigmoids ? "sigmoid" : "softmax") != (sigmoids ? "sigmoid" : "softmax"))
    c.refuse("scoring_func", sigmoids ? "sigmoid" : "softmax");
  if (c.integer("moe_layer_freq", 1) != 1) c.refuse("moe_layer_freq", "1");
  draft.count("leading_dense_block_count", c.integer("first_k_dense_replace", 0));
  draft.count("expert_count", c.extent("n_routed_experts"));
  draft.count("expert_used_count", c.integer("num_experts_per_tok"));
  draft.count("expert_feed_forward_length", c.integer("moe_intermediate_size"));
  draft.count("expert_shared_count", c.integer("n_shared_experts", 0));
  draft.real("expert_weights_scale", c.number("routed_scaling_factor", 1));
  draft.flag("expert_weights_norm", c.flag("norm_topk_prob", sigmoids));
  draft.count("expert_gating_func", sigmoids ? 2 : 1);
  if (!grouped || c.integer("n_group", 1) <= 1) return;
  draft.count("expert_group_count", c.integer("n_group"));
  draft.count("expert_group_used_count", c.integer("topk_group"));
}

void keys_and_values(Draft& draft, const std::string& from, const std::string& to, const Latent& l) {
  const std::string name = from + "self_attn.kv_b_proj.weight";
  const int64_t each = l.plain + l.value;
  Rows both = draft.rows(name);
  if (both.shape != Shape{l.heads * each, l.rank})
    throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, by the settings it is [{}, {}]", name,
                to_string(both.shape), l.heads * each, l.rank);
  draft.add(to + "attn_k_b.weight",
            transposed(draft.elements(name),
                       {.matrices = l.heads, .apart = each * l.rank, .rows = l.plain, .columns = l.rank}));
  both.shape = Shape{l.heads, each, l.rank};
  draft.add(to + "attn_v_b.weight", part(std::move(both), l.plain, l.value));
}

void attention(Draft& draft, const std::string& from, const std::string& to, const Latent& l) {
  static constexpr LinearName kShortQueries[] = {{"attn_q_a", "self_attn.q_a_proj"},
                                                 {"attn_q_a_norm", "self_attn.q_a_layernorm"},
                                                 {"attn_q_b", "self_attn.q_b_proj"}};
  static constexpr LinearName kQueries[] = {{"attn_q", "self_attn.q_proj"}};
  static constexpr LinearName kRest[] = {{"attn_norm", "input_layernorm"},
                                         {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
                                         {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
                                         {"attn_output", "self_attn.o_proj"},
                                         {"ffn_norm", "post_attention_layernorm"}};
  linears(draft, from, to, kRest);
  linears(draft, from, to, l.q_rank > 0 ? std::span<const LinearName>(kShortQueries) : kQueries);
  keys_and_values(draft, from, to, l);
}

void mixture(Draft& draft, const std::string& from, const std::string& to) {
  static constexpr LinearName kShared[] = {{"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
                                           {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
                                           {"ffn_down_shexp", "mlp.shared_experts.down_proj"}};
  const HfConfig& c = draft.config();
  router(draft, to, from + "mlp.gate.weight");
  if (const std::string bias = from + "mlp.gate.e_score_correction_bias"; draft.has(bias))
    draft.add(to + "exp_probs_b.bias", draft.rows(bias));
  experts(draft, from + "mlp.", to, c.integer("n_routed_experts"), {"gate_proj", "up_proj", "down_proj"});
  if (c.integer("n_shared_experts", 0) > 0) linears(draft, from, to, kShared);
}

void deepseek(Draft& draft, bool sigmoids) {
  static constexpr LinearName kMlp[] = {
      {"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
  const HfConfig& c = draft.config();
  if (c.text("hidden_act", "silu") != "silu") c.refuse("hidden_act", "silu");
  const DecoderSizes sizes = decoder_keys(draft);
  const Latent latent = latent_keys(draft, sizes);
  expert_keys(draft, sigmoids);
  rope_keys(draft, latent.turned, {.scales_scores = true});

  const std::string prefix = decoder_prefix(draft);
  embedding_and_output(draft, prefix);
  const int64_t dense = c.integer("first_k_dense_replace", 0);
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string from = layer_part(prefix, i), to = block_part(i);
    attention(draft, from, to, latent);
    if (i < dense) {
      linears(draft, from, to, kMlp);
    } else {
      mixture(draft, from, to);
    }
  }
  // Layers that guess tokens further ahead.
  constexpr const char* kFurther = "num_nextn_predict_layers";
  const int64_t further = c.integer(kFurther, 0) == 0 ? 0 : draft.repeats(kFurther);
  for (int64_t i = 0; i < further; ++i) draft.leave_out(layer_part(prefix, sizes.layers + i));
}

}  // namespace

std::span<const HfFamily> deepseek_families() {
  static constexpr HfFamily kRows[] = {
      {"DeepseekV2ForCausalLM", "deepseek2", [](Draft& draft) { deepseek(draft, false); }},
      {"DeepseekV3ForCausalLM", "deepseek2", [](Draft& draft) { deepseek(draft, true); }},
  };
  return kRows;
}

}  // namespace ingle
