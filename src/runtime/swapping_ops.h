// Another Ops in which some matrices take the place of others.
#pragma once

#include <map>

#include "runtime/forwarding_ops.h"

namespace ingle {

class SwappingOps final : public ForwardingOps {
 public:
  using ForwardingOps::ForwardingOps;

  std::map<const Matrix*, const Matrix*> matrices;  // what is used in place of what
  std::unique_ptr<Ops> release() { return std::move(owned_); }

  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override {
    return inner_->embed(*of(&table), tokens, options, into);
  }
  Tensor linear(const Linear& w, Tensor x, Into into) override { return inner_->linear(of(w), x, into); }
  // One by one: a list of jobs cannot be made longer or other than it was written.
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override {
    auto result = results.begin();
    for (const LinearJob& job : jobs) **result++ = linear(*job.w, job.x, {});
  }
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override {
    return inner_->linear_by_head(of(std::vector<Linear>(w.begin(), w.end())), x);
  }
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override {
    return inner_->gated_mlp(of(gate), of(up), of(down), act, x, into);
  }
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override {
    const Experts swapped{
        .gate = of(experts.gate), .up = of(experts.up), .down = of(experts.down), .activation = experts.activation};
    return inner_->experts_mlp(swapped, routes, x, into);
  }

 private:
  const Matrix* of(const Matrix* matrix) const {
    const auto found = matrices.find(matrix);
    return found == matrices.end() ? matrix : found->second;
  }
  Linear of(Linear w) const {
    w.weight = of(w.weight);
    return w;
  }
  std::vector<Linear> of(std::vector<Linear> all) const {
    for (Linear& w : all) w.weight = of(w.weight);
    return all;
  }
};

}  // namespace ingle
