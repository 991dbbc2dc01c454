// From hidden rows to logits; some models divide these by a number, or keep them within a cap.
#pragma once

#include "backend/backend.h"

namespace ingle {

struct OutputHead {
  Linear weight;       // d_model -> vocab
  float soft_cap = 0;  // 0: none
  float divisor = 1;

  Tensor operator()(Ops& op, Tensor hidden) const {
    const Tensor logits = op.linear(weight, hidden);
    if (divisor != 1) op.apply(kScale, logits, {.a = 1 / divisor});
    if (soft_cap > 0) op.apply(kSoftCap, logits, {.a = soft_cap});
    return logits;
  }
};

}  // namespace ingle
