// Selection without sorting the vocabulary, and sums in an order that does not depend on the machine.
#include "runtime/candidates.h"

#include <array>

#include "base/error.h"
#include "runtime/portable_math.h"

namespace ingle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr size_t kBlock = 64;  // candidates

}  // namespace

void Candidates::start(std::span<const float> logits) noexcept {
  logits_ = logits;
  list_.clear();
  whole_ = true;
  sorted_ = 0;
  scale_ = 1;
  highest_known_ = false;
}

float* Candidates::edit() {
  if (logits_.data() != edited_.data()) {
    edited_.assign(logits_.begin(), logits_.end());
    logits_ = edited_;
  }
  return edited_.data();
}

float Candidates::keep_finite(float before, float after) noexcept {
  if (std::isfinite(before) && !std::isfinite(after)) return after > 0 ? kMax : -kMax;
  return after;
}

void Candidates::add(int32_t id, float bias) {
  INGLE_CHECK(whole_);
  float& logit = edit()[id];
  const float before = std::min(logit, kMax);
  logit = bias == -kInfinity ? bias : keep_finite(before, before + bias);
}

void Candidates::apply_scale() {
  if (scale_ == 1) return;
  const auto scaled = [this](float logit) {
    return static_cast<float>(std::clamp<double>(logit * scale_, -kMax, kMax));
  };
  if (whole_) {
    float* logits = edit();
    for (size_t i = 0; i < logits_.size(); ++i)
      if (std::isfinite(logits[i])) logits[i] = scaled(logits[i]);
  } else {
    for (Candidate& c : list_) c.logit = scaled(c.logit);
    sorted_ = 0;  // rounding may have made equals of neighbours
  }
  scale_ = 1;
  highest_known_ = false;
}

int32_t Candidates::best() const {
  if (!whole_) return std::min_element(list_.begin(), list_.end(), more_likely)->id;
  int32_t best = -1;
  float highest = -kInfinity;
  for (size_t i = 0; i < logits_.size(); ++i) {
    if (logits_[i] > highest) {
      highest = logits_[i];
      best = static_cast<int32_t>(i);
    }
  }
  if (best < 0) throw_empty();
  return best;
}

void Candidates::throw_empty() const {
  const auto nans = std::count_if(logits_.begin(), logits_.end(), [](float x) { return std::isnan(x); });
  if (nans > 0)
    throw_error(ErrorCode::kInvalidArgument, "logits are not numbers: {} of {} are NaN and the rest -infinity", nans,
                logits_.size());
  throw_error(ErrorCode::kInvalidArgument, "no token left to choose from: all {} logits are -infinity", logits_.size());
}

std::span<const Candidate> Candidates::list() {
  if (!whole_) return list_;
  for (size_t i = 0; i < logits_.size(); ++i)
    if (logits_[i] > -kInfinity) list_.push_back({static_cast<int32_t>(i), std::min(logits_[i], kMax)});
  if (list_.empty()) throw_empty();
  whole_ = false;
  return list_;
}

const Candidate& Candidates::at_rank(size_t rank) {
  list();
  sorted_ = grow_sorted(list_, sorted_, rank + 1, more_likely);
  return list_[rank];
}

double Candidates::highest() noexcept {
  if (!highest_known_) {
    highest_ = sorted_ > 0 ? list_[0].logit : std::min_element(list_.begin(), list_.end(), more_likely)->logit;
    highest_known_ = true;
  }
  return highest_;
}

double Candidates::weight(const Candidate& c) noexcept { return portable_exp(log_weight(c)); }

template <class Use>
void Candidates::for_each_weight_block(Use use) {
  list();
  const double highest = this->highest();
  const double scale = scale_;
  std::array<double, kBlock> weights;
  for (size_t begin = 0; begin < list_.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, list_.size() - begin);
    double lowest = 0;
    for (size_t i = 0; i < n; ++i) {
      weights[i] = (static_cast<double>(list_[begin + i].logit) - highest) * scale;
      lowest = std::min(lowest, weights[i]);
    }
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(n), weights.end(), 0.0);
    if (lowest >= kExpLowest) {  // the loop a compiler can vectorise
      for (double& w : weights) w = portable_exp_in_range(w);
    } else {
      for (double& w : weights) w = portable_exp(w);
    }
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(n), weights.end(), 0.0);
    use(weights, n);
  }
}

double Candidates::total_weight() {
  std::array<double, 4> sums{};  // four, so that the additions do not wait for each other
  for_each_weight_block([&](const std::array<double, kBlock>& weights, size_t) {
    for (size_t i = 0; i < kBlock; i += 4)
      for (size_t lane = 0; lane < 4; ++lane) sums[lane] += weights[i + lane];
  });
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void Candidates::fill_weights(std::vector<double>& out) {
  out.clear();
  for_each_weight_block([&](const std::array<double, kBlock>& weights, size_t n) {
    out.insert(out.end(), weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(n));
  });
}

void Candidates::keep_top(size_t count) {
  if (whole_ && count < logits_.size()) {
    scan_top(count);
  } else if (count < list().size()) {
    if (sorted_ < count) {
      const auto begin = list_.begin() + static_cast<std::ptrdiff_t>(sorted_);
      std::nth_element(begin, list_.begin() + static_cast<std::ptrdiff_t>(count), list_.end(), more_likely);
    }
    list_.resize(count);
  }
  if (sorted_ < list_.size()) std::sort(list_.begin() + static_cast<std::ptrdiff_t>(sorted_), list_.end(), more_likely);
  sorted_ = list_.size();
}

// One pass. The list collects what beats the weakest of the best `count` seen so far and is cut back to `count`
// whenever it has grown to twice that: O(vocab) whatever the count, and for a small one hardly more than a comparison
// per token.
void Candidates::scan_top(size_t count) {
  constexpr size_t kSlack = 64;
  const size_t full = 2 * count + kSlack;
  float weakest = -kInfinity;  // ids come in rising order, so an equal logit later on loses
  const auto cut = [&] {
    const auto end = list_.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(list_.begin(), end - 1, list_.end(), more_likely);
    weakest = (end - 1)->logit;
    list_.erase(end, list_.end());
  };
  for (size_t i = 0; i < logits_.size(); ++i) {
    if (!(logits_[i] > weakest)) continue;
    list_.push_back({static_cast<int32_t>(i), std::min(logits_[i], kMax)});
    if (list_.size() == full) cut();
  }
  if (list_.empty()) throw_empty();
  if (list_.size() > count) cut();
  whole_ = false;
}

void Candidates::replace(std::span<const Candidate> sorted) {
  INGLE_CHECK(!sorted.empty());
  list_.assign(sorted.begin(), sorted.end());
  sorted_ = list_.size();
  highest_known_ = false;
}

}  // namespace ingle
