// Another Ops that tells what comes into each matrix. What a fused operation keeps to itself (the hidden numbers of a
// gated block) is computed step by step here, so that it can be told too.
#pragma once

#include <functional>

#include "runtime/forwarding_ops.h"

namespace ingle {

class RecordingOps final : public ForwardingOps {
 public:
  // Rows of what comes into a matrix: row i begins at data + i * stride.
  struct Input {
    const Matrix* matrix;
    const float* data;
    int64_t rows, stride;
  };
  using Take = std::function<void(const Input& input)>;

  // Tensors of `inner` must be in memory that the host reads.
  RecordingOps(std::unique_ptr<Ops> inner, Take take) : ForwardingOps(std::move(inner)), take_(std::move(take)) {}

  Tensor linear(const Linear& w, Tensor x, Into into) override;
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override;
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override;
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override;
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override;

 private:
  void record(const Linear& w, const Tensor& x);
  // act(gate x) * (up x), with both inputs recorded.
  Tensor hidden(const Linear& gate, const Linear& up, Activation act, Tensor x);

  Take take_;
};

}  // namespace ingle
