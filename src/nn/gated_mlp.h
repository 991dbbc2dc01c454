// The feed-forward block of gated models (Shazeer, arXiv:2002.05202): down(act(gate x) * (up x)).
#pragma once

#include "backend/backend.h"

namespace ingle {

struct GatedMlp {
  Linear gate, up, down;  // d_model -> d_ff twice, d_ff -> d_model
  Activation activation = Activation::kSilu;

  Tensor operator()(Ops& op, Tensor x, Into into = {}) const {
    return op.gated_mlp(gate, up, down, activation, x, into);
  }
};

}  // namespace ingle
