// A mixture of experts (Shazeer et al., arXiv:1701.06538): a router picks a few of many gated feed-forward blocks for
// each row, and their results are summed by its weights.
#pragma once

#include <vector>

#include "backend/backend.h"

namespace ingle {

struct MixtureOfExperts {
  Linear router;  // d_model -> experts
  Experts experts;
  std::vector<float> scales;  // what an expert's weight is multiplied by; empty: 1
  int64_t used = 0;
  Shares shares = Shares::kOfUsed;

  Tensor operator()(Ops& op, Tensor x, Into into = {}) const { return (*this)(op, x, x, into); }
  // For models whose router sees other rows than the experts.
  Tensor operator()(Ops& op, Tensor asking, Tensor x, Into into = {}) const {
    const float* scale = scales.empty() ? nullptr : scales.data();
    return op.experts_mlp(experts, op.route(op.linear(router, asking), used, scale, shares), x, into);
  }
};

}  // namespace ingle
