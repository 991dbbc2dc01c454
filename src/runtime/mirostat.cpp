#include "runtime/mirostat.h"

#include <algorithm>
#include <cmath>

#include "runtime/portable_math.h"

namespace ingle {

Mirostat::Mirostat(const SamplerOptions& options)
    : tau_(options.mirostat_tau),
      eta_(options.mirostat_eta),
      mu_(2 * tau_),
      min_keep_(static_cast<size_t>(options.min_keep)) {
  check_option(options.mirostat_tau >= 0 && std::isfinite(options.mirostat_tau), "mirostat_tau", options.mirostat_tau,
               "0 or more");
  check_option(options.mirostat_eta >= 0 && std::isfinite(options.mirostat_eta), "mirostat_eta", options.mirostat_eta,
               "0 or more");
}

void Mirostat::filter(Candidates& candidates) const {
  // -log2 p <= mu, with p = w / total, is log w >= log(total) - mu ln 2.
  const double least = portable_log(candidates.total_weight()) - mu_ * kLn2;
  const auto expected = [&](const Candidate& c) { return candidates.log_weight(c) >= least; };
  const std::span<const Candidate> list = candidates.list();
  if (static_cast<size_t>(std::count_if(list.begin(), list.end(), expected)) < min_keep_) {
    candidates.keep_top(min_keep_);
  } else {
    candidates.keep_if(expected);
  }
}

}  // namespace ingle
