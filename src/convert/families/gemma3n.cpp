// Gemma 3n, text: four residual streams that are predicted and corrected, a way around attention, sparse gates, shared
// caches and per-layer embeddings.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "convert/families/decoder.h"
#include "convert/family.h"

namespace ingle {
namespace {

constexpr int64_t kStreams = 4;

// How many standard deviations above the mean a share of a normal distribution ends: the z whose 1 - erfc(z / sqrt(2))
// / 2 it is, by halving.
double quantile(double share) {
  if (share == 0) return -INFINITY;
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < share ? low : high) = middle;
  }
  return high;
}

std::vector<float> sparsity_of(const HfConfig& c, int64_t layers) {
  std::vector<double> shares = c.numbers("activation_sparsity_pattern");
  if (shares.size() == 1) shares.resize(static_cast<size_t>(layers), shares[0]);
  if (static_cast<int64_t>(shares.size()) != layers)
    c.refuse("activation_sparsity_pattern", "as long as num_hidden_layers");
  std::vector<float> scales;
  for (const double share : shares) {
    if (!(share >= 0 && share < 1)) c.refuse("activation_sparsity_pattern", "of numbers from 0 to below 1");
    scales.push_back(static_cast<float>(quantile(share)));
  }
  return scales;
}

int64_t metadata(Draft& draft) {
  const HfConfig& c = draft.config();
  const int64_t layers = draft.repeats("num_hidden_layers"), head_dim = head_size(c, "head_dim");
  const std::vector<bool> slides = sliding_layers(c);
  if (slides.empty()) c.refuse("layer_types", "as long as num_hidden_layers");
  std::vector<double> d_ff = c.numbers("intermediate_size");
  if (d_ff.size() == 1) d_ff.resize(static_cast<size_t>(layers), d_ff[0]);
  if (static_cast<int64_t>(d_ff.size()) != layers) c.refuse("intermediate_size", "as long as num_hidden_layers");
  for (const double size : d_ff)
    if (!(size >= 1 && size <= HfConfig::kMostOfAnything) || size != std::trunc(size))
      c.refuse("intermediate_size", fmt::format("from 1 to {} in every layer", HfConfig::kMostOfAnything));
  draft.count("block_count", layers);
  draft.count("context_length", c.integer("max_position_embeddings"));
  draft.count("embedding_length", c.integer("hidden_size"));
  draft.per_layer("feed_forward_length", std::vector<int32_t>(d_ff.begin(), d_ff.end()));
  draft.count("attention.head_count", c.extent("num_attention_heads"));
  draft.count("attention.head_count_kv", c.extent("num_key_value_heads"));
  draft.count("attention.key_length", head_dim);
  draft.count("attention.value_length", head_dim);
  draft.count("attention.sliding_window", c.integer("sliding_window"));
  draft.per_layer("attention.sliding_window_pattern", slides);
  draft.count("attention.shared_kv_layers", c.integer("num_kv_shared_layers", 0));
  draft.real("attention.layer_norm_rms_epsilon", c.number("rms_norm_eps"));
  draft.count("embedding_length_per_layer_input", c.integer("hidden_size_per_layer_input"));
  draft.real("final_logit_softcapping", c.number("final_logit_softcapping", 0));
  draft.count("vocab_size", c.integer("vocab_size"));
  draft.count("altup.active_idx", c.integer("altup_active_idx", 0));
  draft.count("altup.num_inputs", c.integer("altup_num_inputs", kStreams));
  draft.per_layer("activation_sparsity_scale", sparsity_of(c, layers));
  const auto rope = c.object("rope_parameters");
  const auto sliding = rope ? rope->object("sliding_attention") : std::nullopt;
  const auto full = rope ? rope->object("full_attention") : std::nullopt;
  rope_keys(draft, head_dim, full ? *full : c);
  draft.real("rope.freq_base_swa", sliding ? sliding->number("rope_theta") : c.number("rope_local_base_freq", 10000));
  return layers;
}

void layer(Draft& draft, const std::string& from, const std::string& to, bool reads_only) {
  static constexpr LinearName kNames[] = {{"attn_norm", "input_layernorm"},
                                          {"attn_q", "self_attn.q_proj"},
                                          {"attn_q_norm", "self_attn.q_norm"},
                                          {"attn_output", "self_attn.o_proj"},
                                          {"post_attention_norm", "post_attention_layernorm"},
                                          {"ffn_norm", "pre_feedforward_layernorm"},
                                          {"ffn_gate", "mlp.gate_proj"},
                                          {"ffn_up", "mlp.up_proj"},
                                          {"ffn_down", "mlp.down_proj"},
                                          {"post_ffw_norm", "post_feedforward_layernorm"},
                                          {"altup_router", "altup.modality_router"},
                                          {"altup_router_norm", "altup.router_norm"},
                                          {"laurel_l", "laurel.linear_left"},
                                          {"laurel_r", "laurel.linear_right"},
                                          {"laurel_post_norm", "laurel.post_laurel_norm"}};
  linears(draft, from, to, kNames);
  linears(draft, from, to, kPerLayerInputs);
  for (const LinearName& n : {LinearName{"attn_k", "self_attn.k_proj"}, LinearName{"attn_v", "self_attn.v_proj"},
                              LinearName{"attn_k_norm", "self_attn.k_norm"}}) {
    if (reads_only) {
      draft.ignore(fmt::format("{}{}.weight", from, n.from));  // published files hold them although nobody may use them
    } else {
      draft.linear(to + n.to, from + n.from);
    }
  }
  for (const char* which : {"prediction", "correction"})
    draft.add(fmt::format("{}altup_{}_coef.weight", to, std::string_view(which).substr(0, 7)),
              draft.rows(fmt::format("{}altup.{}_coefs.weight", from, which)), DraftTensor::Storage::kFloat);
  const std::string scale = from + "altup.correct_output_scale";
  if (draft.config().flag("altup_correct_scale", true)) {
    draft.add(to + "altup_correct_scale.weight", draft.rows(scale));
  } else {
    draft.ignore(scale);
  }
}

void gemma3n(Draft& draft) {
  const HfConfig& c = draft.config();
  if (c.text("hidden_activation", "gelu_pytorch_tanh") != "gelu_pytorch_tanh")
    c.refuse("hidden_activation", "gelu_pytorch_tanh");
  if (c.integer("altup_num_inputs", kStreams) != kStreams) c.refuse("altup_num_inputs", "4");
  const int64_t layers = metadata(draft);
  const std::string prefix = decoder_prefix(draft);
  embedding_and_output(draft, prefix);
  per_layer_embeddings(draft, prefix);
  for (const LinearName& n :
       {LinearName{"altup_proj", "altup_projections"}, LinearName{"altup_unembd_proj", "altup_unembed_projections"}}) {
    std::vector<Rows> all;
    for (int64_t i = 0; i + 1 < kStreams; ++i) {
      all.push_back(draft.rows(fmt::format("{}{}.{}.weight", prefix, n.from, i)));
      if (all.back().shape != all.front().shape)
        throw_error(ErrorCode::kInvalidFile, "tensors {}{}.*.weight have different shapes", prefix, n.from);
    }
    draft.add(fmt::format("{}.weight", n.to), stacked(std::move(all)));
  }
  const int64_t shared = c.integer("num_kv_shared_layers", 0);
  for (int64_t i = 0; i < layers; ++i) layer(draft, layer_part(prefix, i), block_part(i), i >= layers - shared);
  leave_out_towers(draft);
}

}  // namespace

std::span<const HfFamily> gemma3n_families() {
  static constexpr HfFamily kRows[] = {
      {"Gemma3nForCausalLM", "gemma3n", gemma3n},
      {"Gemma3nForConditionalGeneration", "gemma3n", gemma3n},
  };
  return kRows;
}

}  // namespace ingle
