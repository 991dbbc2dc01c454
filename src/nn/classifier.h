// From a hidden row that stands for a text to a number for each label: output(tanh(dense x)), or output alone.
#pragma once

#include <optional>

#include "backend/backend.h"

namespace ingle {

struct Classifier {
  std::optional<Linear> dense;  // d_model -> d_model
  Linear output;                // d_model -> labels

  Tensor operator()(Ops& op, Tensor hidden) const {
    if (!dense) return op.linear(output, hidden);
    const Tensor inner = op.linear(*dense, hidden);
    op.apply(kSoftCap, inner, {.a = 1});  // tanh
    return op.linear(output, inner);
  }
};

}  // namespace ingle
