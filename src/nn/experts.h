// A mixture of experts (Shazeer et al., arXiv:1701.06538): a router picks a few of many gated feed-forward blocks for
// each row, and their results are summed by its weights. One more block may be there for every row.
#pragma once

#include <optional>
#include <vector>

#include "backend/backend.h"
#include "nn/gated_mlp.h"

namespace ingle {

// The block that serves every row (Dai et al., arXiv:2401.06066).
struct SharedExpert {
  GatedMlp mlp;
  std::optional<Linear> gate;  // d_model -> 1: its result is multiplied by the sigmoid of this

  void add_to(Ops& op, Tensor sum, Tensor x) const {
    if (!gate) {
      mlp(op, x, {.add_to = sum});
      return;
    }
    const Tensor weight = op.linear(*gate, x);  // [rows, 1]
    op.apply(kSigmoid, weight);
    Tensor stream = sum;  // the same rows as one stream each
    stream.shape = {sum.rows(), 1, sum.row_size()};
    op.add_to_streams(stream, mlp(op, x), weight);
  }
};

struct MixtureOfExperts {
  Linear router;  // d_model -> experts
  Experts experts;
  std::vector<float> scales;  // what an expert's weight is multiplied by; empty: 1
  int64_t used = 0;
  RouteOptions choice = {};  // but for the scales
  std::optional<SharedExpert> shared;

  Tensor operator()(Ops& op, Tensor x, Into into = {}) const { return (*this)(op, x, x, into); }
  // For models whose router sees other rows than the experts.
  Tensor operator()(Ops& op, Tensor asking, Tensor x, Into into = {}) const {
    RouteOptions options = choice;
    if (!scales.empty()) options.scale = scales.data();
    const Tensor sum = op.experts_mlp(experts, op.route(op.linear(router, asking), used, options), x, into);
    if (shared) shared->add_to(op, sum, x);
    return sum;
  }
};

}  // namespace ingle
