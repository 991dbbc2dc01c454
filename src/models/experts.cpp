#include "models/parts.h"

#include "base/error.h"

namespace ingle {
namespace {

// Softmax over all experts or over the best of them: the same, unless weights are not divided by their sum.
enum GatingKey : int64_t { kUnsaid = 0, kSoftmax = 1, kSigmoid = 2, kSoftmaxOfBest = 3 };

// How experts are chosen, and what their weights are. Groups are as good as their best expert (DeepSeek-V2,
// arXiv:2405.04434), or with sigmoids as their two best (DeepSeek-V3, arXiv:2412.19437).
RouteOptions read_choice(const Hparams& h, const Weights& b, const Keys& keys) {
  const int64_t gating = keys.find("expert_gating_func", kUnsaid, 0, 255);
  if (gating > kSoftmaxOfBest) {
    throw_error(ErrorCode::kUnsupported, "{}: key '{}' is {}; known are 1 and 3, softmax, and 2, sigmoid", h.file,
                keys.name("expert_gating_func"), gating);
  }
  RouteOptions choice{.gating = gating == kSigmoid ? Gating::kSigmoid : Gating::kSoftmax,
                      .shares = h.expert_weights_norm || gating == kSoftmaxOfBest ? Shares::kOfUsed : Shares::kOfAll,
                      .bias = b.find_bias("exp_probs_b", h.experts)};
  choice.groups = std::max<int64_t>(1, keys.find("expert_group_count", 1, 0, h.experts));
  choice.groups_used = choice.groups == 1 ? 1 : keys.get("expert_group_used_count", 1, choice.groups);
  const int64_t size = h.experts / choice.groups;
  choice.group_best = gating == kSigmoid ? std::min<int64_t>(2, size) : 1;
  if (h.experts % choice.groups != 0 || h.experts_used > choice.groups_used * size) {
    throw_error(ErrorCode::kInvalidFile,
                "{}: {} of {} experts in {} of {} groups; groups must be of one size and hold as many", h.file,
                h.experts_used, h.experts, choice.groups_used, choice.groups);
  }
  return choice;
}

std::optional<SharedExpert> find_shared_expert(const Hparams& h, const Weights& b, Activation activation) {
  if (!b.has("ffn_down_shexp")) return std::nullopt;
  const int64_t d_ff = h.shared_expert_d_ff > 0 ? h.shared_expert_d_ff : b.rows_of("ffn_up_shexp");
  SharedExpert shared{.mlp = read_gated_mlp(h, b, d_ff, activation, "_shexp"), .gate = {}};
  if (b.has("ffn_gate_inp_shexp")) shared.gate = fine(b.row("ffn_gate_inp_shexp", h.d_model));
  return shared;
}

}  // namespace

MixtureOfExperts read_experts(const Hparams& h, const Weights& b, Activation activation) {
  const Keys keys(b.file(), h.architecture);
  const int64_t d = h.d_model, count = h.experts;
  const bool both = b.has("ffn_gate_up_exps");  // of each expert the gate's rows, then up's
  int64_t d_ff = h.expert_d_ff;
  // Some files of Mixtral leave it to the tensors.
  if (d_ff == 0 && count > 0 && !both && b.has("ffn_gate_exps")) d_ff = b.rows_of("ffn_gate_exps") / count;
  if (count < 1 || h.experts_used < 1 || d_ff < 1) {
    throw_error(ErrorCode::kInvalidFile, "{}: {} experts, {} used, of {} hidden numbers; none of these may be 0",
                h.file, count, h.experts_used, d_ff);
  }
  MixtureOfExperts m{.router = fine(b.linear("ffn_gate_inp", d, count)),
                     .experts = {.gate = {}, .up = {}, .down = {}, .activation = activation},
                     .scales = {},
                     .used = h.experts_used,
                     .choice = read_choice(h, b, keys),
                     .shared = find_shared_expert(h, b, activation)};
  if (both) {
    m.experts.gate = b.linears_part("ffn_gate_up_exps", count, d, 2 * d_ff, 0, d_ff);
    m.experts.up = b.linears_part("ffn_gate_up_exps", count, d, 2 * d_ff, d_ff, d_ff);
  } else {
    m.experts.gate = b.linears("ffn_gate_exps", count, d, d_ff);
    m.experts.up = b.linears("ffn_up_exps", count, d, d_ff);
  }
  m.experts.down = b.linears("ffn_down_exps", count, d_ff, d);

  const std::span<const float> scales = b.find_scales("ffn_down_exps", count);
  m.scales.assign(scales.begin(), scales.end());
  if (const double scale = keys.find_float("expert_weights_scale", 0); scale != 0 && scale != 1) {
    keys.positive("expert_weights_scale", scale, 1e6);
    if (m.scales.empty()) m.scales.assign(static_cast<size_t>(count), 1.0f);
    for (float& s : m.scales) s *= static_cast<float>(scale);
  }
  return m;
}

}  // namespace ingle
