// Llama's layers: Llama 2 and 3, Mistral, Mixtral, SmolLM2; Qwen2 with biases, Qwen3 with norms on heads, with experts.
#include <fmt/format.h>

#include "base/error.h"
#include "convert/families/decoder.h"
#include "convert/family.h"

namespace ingle {
namespace {

using Storage = DraftTensor::Storage;

// Qwen's files name a window that only counts when another setting says so.
int64_t window_of(const HfConfig& c) {
  if (!c.has("sliding_window") || !c.flag("use_sliding_window", !c.has("use_sliding_window"))) return 0;
  return c.integer("sliding_window");
}

void refuse_unless(bool good, const HfConfig& c, std::string_view key, std::string_view must) {
  if (!good) c.refuse(key, must);
}

// Experts' matrices: one tensor for each expert, or all of them in one, the gate's rows before up's.
void experts(Draft& draft, const std::string& from, const std::string& to, int64_t count, bool mixtral) {
  const std::string gate_up = from + "experts.gate_up_proj";
  if (draft.has(gate_up)) {
    const Rows both = draft.rows(gate_up);
    if (both.shape.rank != 3 || both.shape[1] % 2 != 0)
      throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}", gate_up, to_string(both.shape));
    const int64_t d_ff = both.shape[1] / 2;
    draft.add(to + "ffn_gate_exps.weight", part(both, 0, d_ff));
    draft.add(to + "ffn_up_exps.weight", part(both, d_ff, d_ff));
    draft.add(to + "ffn_down_exps.weight", draft.rows(from + "experts.down_proj"));
    return;
  }
  struct Matrix {
    const char *name, *own, *mixtrals;
  };
  for (const Matrix& m : {Matrix{"ffn_gate_exps", "gate_proj", "w1"}, Matrix{"ffn_up_exps", "up_proj", "w3"},
                          Matrix{"ffn_down_exps", "down_proj", "w2"}}) {
    std::vector<Rows> all;
    for (int64_t e = 0; e < count; ++e) {
      const std::string name = fmt::format("{}experts.{}.{}.weight", from, e, mixtral ? m.mixtrals : m.own);
      all.push_back(draft.rows(name));
      if (all.back().shape != all.front().shape)
        throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, that of the first expert {}", name,
                    to_string(all.back().shape), to_string(all.front().shape));
    }
    draft.add(fmt::format("{}{}.weight", to, m.name), stacked(std::move(all)));
  }
}

void layers(Draft& draft, const DecoderSizes& sizes, bool adjacent_pairs, int64_t expert_count) {
  const std::string prefix = decoder_prefix(draft);
  embedding_and_output(draft, prefix);
  const auto paired_if = [&](int64_t heads) {
    return [=](Rows rows) {
      const int64_t n = rows.shape[0];
      if (n % (2 * heads) != 0)
        throw_error(ErrorCode::kInvalidFile, "a matrix of shape {} does not divide into {} heads of pairs",
                    to_string(rows.shape), heads);
      return adjacent_pairs ? paired(std::move(rows), heads) : rows;
    };
  };
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string from = layer_part(prefix, i), to = block_part(i);
    draft.linear(to + "attn_norm", from + "input_layernorm");
    draft.linear(to + "attn_q", from + "self_attn.q_proj", paired_if(sizes.heads));
    draft.linear(to + "attn_k", from + "self_attn.k_proj", paired_if(sizes.kv_heads));
    draft.linear(to + "attn_v", from + "self_attn.v_proj");
    draft.linear(to + "attn_output", from + "self_attn.o_proj");
    for (const char* norm : {"q_norm", "k_norm"})
      if (draft.has(fmt::format("{}self_attn.{}.weight", from, norm)))
        draft.linear(fmt::format("{}attn_{}", to, norm), fmt::format("{}self_attn.{}", from, norm));
    draft.linear(to + "ffn_norm", from + "post_attention_layernorm");
    draft.ignore(from + "self_attn.rotary_emb.inv_freq");  // of old files; it follows from the settings
    if (expert_count == 0) {
      for (const char* matrix : {"gate", "up", "down"})
        draft.linear(fmt::format("{}ffn_{}", to, matrix), fmt::format("{}mlp.{}_proj", from, matrix));
      continue;
    }
    const bool mixtral = draft.has(from + "block_sparse_moe.gate.weight");
    const std::string mixture = from + (mixtral ? "block_sparse_moe." : "mlp.");
    draft.add(to + "ffn_gate_inp.weight", draft.rows(mixture + "gate.weight"), Storage::kFloat);
    experts(draft, mixture, to, expert_count, mixtral);
  }
}

void llama(Draft& draft) {
  const HfConfig& c = draft.config();
  refuse_unless(c.text("hidden_act", "silu") == "silu", c, "hidden_act", "silu");
  const DecoderSizes sizes = decoder_keys(draft);
  if (const int64_t window = window_of(c); window > 0) draft.count("attention.sliding_window", window);
  rope_keys(draft, sizes.head_dim);
  const int64_t experts = c.integer("num_local_experts", 0);  // Mixtral
  if (experts > 0) {
    draft.count("expert_count", experts);
    draft.count("expert_used_count", c.integer("num_experts_per_tok"));
  }
  layers(draft, sizes, true, experts);
}

void qwen(Draft& draft) {
  const HfConfig& c = draft.config();
  refuse_unless(c.text("hidden_act", "silu") == "silu", c, "hidden_act", "silu");
  refuse_unless(window_of(c) == 0 || !c.flag("use_sliding_window", false), c, "use_sliding_window",
                "false: layers of two kinds have no place in such a file");
  const DecoderSizes sizes = decoder_keys(draft);
  rope_keys(draft, sizes.head_dim);
  const int64_t experts = c.integer("num_experts", c.integer("num_local_experts", 0));
  if (experts > 0) {
    refuse_unless(c.numbers("mlp_only_layers").empty(), c, "mlp_only_layers", "empty: every layer needs its experts");
    refuse_unless(c.integer("decoder_sparse_step", 1) == 1, c, "decoder_sparse_step", "1");
    draft.count("expert_count", experts);
    draft.count("expert_used_count", c.integer("num_experts_per_tok"));
    draft.count("expert_feed_forward_length", c.integer("moe_intermediate_size"));
    if (!c.flag("norm_topk_prob", false)) draft.flag("expert_weights_norm", false);
  }
  layers(draft, sizes, false, experts);
}

}  // namespace

std::span<const HfFamily> llama_families() {
  static constexpr HfFamily kRows[] = {
      {"LlamaForCausalLM", "llama", llama},   {"MistralForCausalLM", "llama", llama},
      {"MixtralForCausalLM", "llama", llama}, {"Qwen2ForCausalLM", "qwen2", qwen},
      {"Qwen3ForCausalLM", "qwen3", qwen},    {"Qwen3MoeForCausalLM", "qwen3moe", qwen},
  };
  return kRows;
}

}  // namespace ingle
