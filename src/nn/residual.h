// How what a part of a layer computed comes back to the residual stream: as it is, normed, or times a factor.
#pragma once

#include <optional>

#include "backend/backend.h"

namespace ingle {

struct Residual {
  std::optional<Norm> norm;  // of the part's result
  float scale = 1;           // of what is added

  // x += scale * norm(part), in place. `part` takes Into and gives its result; it adds by itself where nothing comes in
  // between.
  template <class Part>
  Tensor operator()(Ops& op, Tensor x, Part&& part) const {
    if (!norm && scale == 1) return part(Into{.add_to = x});
    const Tensor y = part(Into{});
    if (scale == 1) return op.norm(*norm, y, {.add_to = x});
    op.apply(kAddScaled, x, {.y = norm ? op.norm(*norm, y) : y, .a = scale});
    return x;
  }
};

}  // namespace ingle
