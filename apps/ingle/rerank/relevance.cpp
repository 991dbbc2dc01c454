#include "apps/ingle/rerank/relevance.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "apps/ingle/fail.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {

Relevance::Relevance(const ModelInfo& info) {
  if (info.labels.empty())
    fail(ErrorCode::kUnsupported,
         "{}: has no classifier (cls.output.weight): it is no reranker; ingle embed compares texts",
         printable(info.path));
  if (info.labels.size() == 1) return;
  const auto yes = std::ranges::find(info.labels, "yes");
  if (info.labels.size() != 2 || yes == info.labels.end())
    fail(ErrorCode::kUnsupported, "{}: its classifier scores {} ({}); a reranker's scores one thing, or yes and no",
         printable(info.path), info.labels.size(), printable(fmt::format("{}", fmt::join(info.labels, ", "))));
  yes_ = static_cast<size_t>(yes - info.labels.begin());
}

double Relevance::operator()(std::span<const float> scores) const {
  const double logit = yes_ ? static_cast<double>(scores[*yes_]) - scores[1 - *yes_] : scores[0];
  return 1 / (1 + std::exp(-logit));
}

}  // namespace ingle::app
