#include "apps/ingle/embed/pooling.h"

#include <cmath>

namespace ingle::app {
namespace {

struct Named {
  Pooling pooling;
  std::string_view name;
};
constexpr Named kNamed[] = {{Pooling::kMean, "mean"}, {Pooling::kCls, "cls"}, {Pooling::kLast, "last"}};

}  // namespace

std::string_view to_string(Pooling pooling) noexcept {
  for (const Named& named : kNamed)
    if (named.pooling == pooling) return named.name;
  return "?";
}

std::optional<Pooling> find_pooling(std::string_view name) noexcept {
  for (const Named& named : kNamed)
    if (named.name == name) return named.pooling;
  return std::nullopt;
}

Want wanted_rows(Pooling pooling) noexcept {
  return pooling == Pooling::kMean ? Want::kAll : pooling == Pooling::kCls ? Want::kFirst : Want::kLast;
}

void Pooler::add(std::span<const float> hidden) {
  ++rows_;
  if (pooling_ != Pooling::kMean || rows_ == 1) {
    sum_.assign(hidden.begin(), hidden.end());
    return;
  }
  for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += hidden[i];
}

std::vector<float> Pooler::embedding(bool normalize) const {
  double scale = pooling_ == Pooling::kMean ? 1.0 / static_cast<double>(rows_) : 1.0;
  if (normalize) {
    double squares = 0;
    for (const double x : sum_) squares += x * x;
    if (squares > 0) scale = 1.0 / std::sqrt(squares);
  }
  std::vector<float> embedding(sum_.size());
  for (size_t i = 0; i < sum_.size(); ++i) embedding[i] = static_cast<float>(sum_[i] * scale);
  return embedding;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;  // one root: that of a square is exact
}

}  // namespace ingle::app
