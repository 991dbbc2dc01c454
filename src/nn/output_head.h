// From hidden rows to logits; some models keep these within a cap.
#pragma once

#include "backend/backend.h"

namespace ingle {

struct OutputHead {
  Linear weight;       // d_model -> vocab
  float soft_cap = 0;  // 0: none

  Tensor operator()(Ops& op, Tensor hidden) const {
    const Tensor logits = op.linear(weight, hidden);
    if (soft_cap > 0) op.apply(kSoftCap, logits, {.a = soft_cap});
    return logits;
  }
};

}  // namespace ingle
