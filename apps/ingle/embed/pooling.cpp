#include "apps/ingle/embed/pooling.h"

#include <cmath>
#include <string>

namespace ingle::app {
namespace {

// GGUF's ARCH.pooling_type; 0 is none, and 4 (a score in place of a vector) is no pooling of rows.
struct Named {
  Pooling pooling;
  std::string_view name, type;
};
constexpr Named kNamed[] = {
    {Pooling::kMean, "mean", "1"},
    {Pooling::kCls, "cls", "2"},
    {Pooling::kLast, "last", "3"},
};

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

std::optional<Pooling> pooling_of_type(std::string_view number) noexcept {
  for (const Named& named : kNamed)
    if (named.type == number) return named.pooling;
  return std::nullopt;
}

std::optional<Pooling> pooling_in(const FileInfo& file, std::string_view architecture) {
  const std::string key = std::string(architecture) + ".pooling_type";
  for (const MetadataEntry& entry : file.metadata)
    if (entry.key == key) return pooling_of_type(entry.value);
  return std::nullopt;
}

// There is no way to want the first row alone: kCls takes all of them and keeps that one.
Want wanted_rows(Pooling pooling) noexcept { return pooling == Pooling::kLast ? Want::kLast : Want::kAll; }

void Pooler::add(std::span<const float> hidden) {
  ++rows_;
  if (pooling_ == Pooling::kCls && rows_ > 1) return;
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
