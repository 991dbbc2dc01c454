// The table of steps a chain can be made of: one line each.
#include <array>

#include "runtime/sampler_step.h"

namespace ingle {

std::span<const StepRow> sampler_steps() {
  static constexpr std::array kSteps = {
      StepRow{"penalties", StepKind::kLogits, make_penalties},
      StepRow{"dry", StepKind::kLogits, make_dry},
      StepRow{"top_k", StepKind::kFilter, make_top_k},
      StepRow{"typical", StepKind::kFilter, make_typical},
      StepRow{"top_p", StepKind::kFilter, make_top_p},
      StepRow{"min_p", StepKind::kFilter, make_min_p},
      StepRow{"xtc", StepKind::kFilter, make_xtc},
      StepRow{"temperature", StepKind::kLogits, make_temperature},
  };
  return kSteps;
}

}  // namespace ingle
