// DRY, "don't repeat yourself" (p-e-w, oobabooga/text-generation-webui pull request 5677): a token that would lengthen
// a repetition already n tokens long is made less likely by multiplier * base^(n - allowed_length), if n >=
// allowed_length. A repetition never reaches across a sequence breaker.
//
//   context  . . A B C D . . . A B C   next token D would go on repeating "A B C": n = 3
//
// n is the longest common suffix of the context and the context cut before an earlier occurrence of that next token. On
// the reversed context these are the lengths of the Z-algorithm (Gusfield 1997, chapter 1), all of them in linear time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/sampler_step.h"

namespace ingle {
namespace {

class Dry : public SamplerStep {
 public:
  Dry(const SamplerOptions& options, int32_t vocab, std::span<const TokenId> breakers)
      : window_(options.dry_penalty_last_n),
        multiplier_(options.dry_multiplier),
        base_(options.dry_base),
        allowed_length_(options.dry_allowed_length),
        is_breaker_(static_cast<size_t>(vocab), false),
        repeated_(vocab) {
    for (TokenId token : breakers) is_breaker_[static_cast<size_t>(token)] = true;
  }

  void apply(Candidates& candidates, Random& random) override {
    find_repetitions();
    candidates.adjust(repeated_, [this](float logit, int32_t length) { return logit - penalty(length); });
  }

  void accept(TokenId token) override {
    history_.push_back(token);
    // Twice the window, then drop the older half: contiguous, and a constant cost per token.
    if (window_ >= 0 && history_.size() >= 2 * static_cast<size_t>(window_) + 64)
      history_.erase(history_.begin(), history_.end() - window_);
  }

  void reset() override { history_.clear(); }

 private:
  // multiplier * base^(length - allowed_length), by squaring: pow() differs between machines.
  float penalty(int32_t length) const noexcept {
    double result = multiplier_;
    double power = base_;
    for (int32_t n = length - allowed_length_; n > 0; n /= 2) {
      if (n % 2 == 1) result *= power;
      power *= power;
    }
    return static_cast<float>(std::min<double>(result, std::numeric_limits<float>::max()));
  }

  // Fills repeated_: for each token that would go on with a repetition, its length so far.
  void find_repetitions() {
    repeated_.clear();
    if (history_.empty()) return;
    const size_t size = window_ < 0 ? history_.size() : std::min(history_.size(), static_cast<size_t>(window_));
    const TokenId* newest = history_.data() + history_.size() - 1;
    const auto back = [newest](size_t i) { return *(newest - i); };  // the reversed context
    size_t reach = 0;  // tokens since the last breaker: no repetition is longer
    while (reach < size && !is_breaker_[static_cast<size_t>(back(reach))]) ++reach;
    if (reach == 0 || reach < static_cast<size_t>(allowed_length_)) return;

    common_.resize(size);
    // Invariant: back[left, right) equals back[0, right - left), with the largest right seen so far.
    for (size_t k = 1, left = 0, right = 0; k < size; ++k) {
      size_t length = k < right ? std::min(common_[k - left], right - k) : 0;
      if (k + length >= right) {
        while (k + length < size && back(length) == back(k + length)) ++length;
        left = k;
        right = k + length;
      }
      common_[k] = length;
      record(back(k - 1), std::min(length, reach));
    }
  }

  void record(TokenId next, size_t length) {
    if (length == 0 || length < static_cast<size_t>(allowed_length_) || is_breaker_[static_cast<size_t>(next)]) return;
    int32_t& longest = repeated_[next];
    longest = std::max(longest, static_cast<int32_t>(length));
  }

  int32_t window_;  // -1: everything
  double multiplier_, base_;
  int32_t allowed_length_;
  std::vector<bool> is_breaker_;
  std::vector<TokenId> history_;
  std::vector<size_t> common_;  // [k]: length of the common prefix of back[0..) and back[k..)
  TokenValues repeated_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_dry(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(o.dry_multiplier >= 0 && std::isfinite(o.dry_multiplier), "dry_multiplier", o.dry_multiplier,
               "0 (off) or more");
  check_option(o.dry_base >= 1 && std::isfinite(o.dry_base), "dry_base", o.dry_base, "1 or more");
  check_option(o.dry_allowed_length >= 0, "dry_allowed_length", o.dry_allowed_length, "0 or more");
  check_option(o.dry_penalty_last_n >= -1, "dry_penalty_last_n", o.dry_penalty_last_n,
               "-1 (the whole context) or more");
  for (TokenId token : setup.dry_breakers)
    check_option(token >= 0 && token < setup.vocab, "dry_breakers", token, fmt::format("in [0, {})", setup.vocab));
  if (o.dry_multiplier == 0 || o.dry_penalty_last_n == 0) return nullptr;
  return std::make_unique<Dry>(o, setup.vocab, setup.dry_breakers);
}

}  // namespace ingle
