#include "runtime/recording_ops.h"

#include <algorithm>
#include <cmath>

namespace ingle {
namespace {

// gate = act(gate) * up, for the activation that is no row operation: Activation::kClampedSilu.
void clamped_silu_mul(Tensor gate, Tensor up) {
  constexpr float kLimit = 7, kSlope = 1.702f;
  for (int64_t i = 0; i < gate.shape.elements(); ++i) {
    const float g = std::min(gate.data[i], kLimit), u = std::clamp(up.data[i], -kLimit, kLimit);
    gate.data[i] = g / (1 + std::exp(-kSlope * g)) * (u + 1);
  }
}

}  // namespace

void RecordingOps::record(const Linear& w, const Tensor& x) {
  if (!x.empty()) take_({w.weight, x.data, x.rows(), x.row_size()});
}

Tensor RecordingOps::linear(const Linear& w, Tensor x, Into into) {
  record(w, x);
  return inner_->linear(w, x, into);
}

void RecordingOps::linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) {
  for (const LinearJob& job : jobs) record(*job.w, job.x);
  inner_->linears(jobs, results);
}

Tensor RecordingOps::linear_by_head(std::span<const Linear> w, Tensor x) {
  for (size_t head = 0; head < w.size() && !x.empty(); ++head)
    take_({w[head].weight, x.data + static_cast<int64_t>(head) * x.shape[2], x.rows(), x.row_size()});
  return inner_->linear_by_head(w, x);
}

Tensor RecordingOps::hidden(const Linear& gate, const Linear& up, Activation act, Tensor x) {
  Tensor g, u;
  linears({{&gate, x}, {&up, x}}, {&g, &u});
  if (act == Activation::kClampedSilu) {
    clamped_silu_mul(g, u);
  } else {
    inner_->apply(act == Activation::kSilu ? kSiluMul : kGeluMul, g, {.y = u});
  }
  return g;
}

Tensor RecordingOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                               Into into) {
  return linear(down, hidden(gate, up, act, x), into);
}

// The result is the fused operation's; each expert's gate and up run once more for what its down gets.
Tensor RecordingOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  std::vector<std::vector<int32_t>> rows(experts.down.size());
  for (int64_t i = 0; i < routes.rows * routes.used; ++i)
    rows[static_cast<size_t>(routes.expert[i])].push_back(static_cast<int32_t>(i / routes.used));
  for (size_t e = 0; e < rows.size(); ++e) {
    if (rows[e].empty()) continue;
    record(experts.down[e],
           hidden(experts.gate[e], experts.up[e], experts.activation, inner_->gather_rows(x, rows[e])));
  }
  return inner_->experts_mlp(experts, routes, x, into);
}

}  // namespace ingle
