// The feed-forward block without a gate (Vaswani et al., arXiv:1706.03762), with gelu: down(gelu(up x)).
#pragma once

#include "backend/backend.h"

namespace ingle {

struct Mlp {
  Linear up, down;  // d_model -> d_ff -> d_model

  Tensor operator()(Ops& op, Tensor x, Into into = {}) const {
    const Tensor inner = op.linear(up, x);
    op.apply(kGelu, inner);
    return op.linear(down, inner, into);
  }
};

}  // namespace ingle
