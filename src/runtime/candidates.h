// The tokens that are still in the running for one draw. It begins as the whole vocabulary, borrowed from the model's
// logits; the first step that removes tokens turns it into a list. So penalties touch only the tokens they concern, and
// a small top-k reads the logits once and never builds a list of the vocabulary.
//
// A token whose logit is NaN or -infinity is never a candidate; +infinity counts as the largest float.
// Between steps the order of the list is a function of the logits alone (by id, or most likely first), never of how a
// standard library happens to partition: sums and draws run over it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/token_values.h"

namespace ingle {

struct Candidate {
  int32_t id;
  float logit;
};

// The one order: higher logit first, among equals the lower id.
inline bool more_likely(const Candidate& a, const Candidate& b) noexcept {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

class Candidates {
 public:
  // Starts over from a row of logits, which must stay valid and unchanged until the next call. Nothing is copied yet.
  void start(std::span<const float> logits) noexcept;

  // logit = change(logit, value) for the candidates that have a value. A finite logit stays finite.
  template <class Change>
  void adjust(const TokenValues& values, Change change);
  // Adds to one logit; -infinity bans the token. Only while no token has been removed.
  void add(int32_t id, float bias);
  // Multiplies all logits by a positive number (1 / temperature), exactly: it is applied where they are read.
  void scale(double factor) noexcept { scale_ *= factor; }

  // The most likely candidate's id. Throws like list().
  int32_t best() const;
  // Throws Error{kInvalidArgument} when no logit is a number above -infinity.
  std::span<const Candidate> list();
  size_t size() { return list().size(); }
  // The candidate of the given rank, 0 the most likely. Sorts no further than it must. After this the list's order is
  // settled again only by keep_top() with a count up to that rank + 1, or when all ranks were asked for.
  const Candidate& at_rank(size_t rank);

  // Of the candidate, relative to the most likely one: exp(log_weight(c)) in [0, 1], its probability times
  // total_weight().
  double log_weight(const Candidate& c) noexcept { return (static_cast<double>(c.logit) - highest()) * scale_; }
  double weight(const Candidate& c) noexcept;
  double total_weight();                        // in [1, size()]
  void fill_weights(std::vector<double>& out);  // of every candidate, in the list's order

  void keep_top(size_t count);  // the most likely ones, sorted; all when there are fewer
  // Keeps those for which keep(candidate) holds, in their order; at least one must.
  template <class Keep>
  void keep_if(Keep keep);
  void replace(std::span<const Candidate> sorted);  // a subset, most likely first, not a view of this list

 private:
  template <class Use>
  void for_each_weight_block(Use use);
  float* edit();       // a private copy of the logits, made on the first change
  void apply_scale();  // into the logits, before somebody changes them by absolute amounts
  double highest() noexcept;
  void scan_top(size_t count);  // keep_top() from the whole vocabulary
  [[noreturn]] void throw_empty() const;
  static float keep_finite(float before, float after) noexcept;

  std::span<const float> logits_;
  std::vector<float> edited_;
  std::vector<Candidate> list_;  // used once whole_ is false
  bool whole_ = true;
  size_t sorted_ = 0;  // list_[0, sorted_) are the most likely, in order
  double scale_ = 1;
  double highest_ = 0;  // largest logit in list_, when known
  bool highest_known_ = false;
};

template <class Change>
void Candidates::adjust(const TokenValues& values, Change change) {
  if (values.entries().empty()) return;
  apply_scale();
  if (whole_) {
    float* logits = edit();
    for (const TokenValues::Entry& e : values.entries()) {
      float& logit = logits[e.token];
      const float before = std::min(logit, std::numeric_limits<float>::max());
      logit = keep_finite(before, change(before, e.value));
    }
    return;
  }
  for (Candidate& c : list_)
    if (const int32_t* value = values.find(c.id)) c.logit = keep_finite(c.logit, change(c.logit, *value));
  sorted_ = 0;
  highest_known_ = false;
}

template <class Keep>
void Candidates::keep_if(Keep keep) {
  list();
  highest();  // before the predicate asks for it in the middle of the move
  const bool was_sorted = sorted_ == list_.size();
  std::erase_if(list_, [&](const Candidate& c) { return !keep(c); });
  sorted_ = was_sorted ? list_.size() : 0;
  highest_known_ = false;
}

// Sorts [begin + sorted, begin + count) of a range whose first `sorted` elements are already its least, so that the
// first `count` are; returns the new `sorted`. Grows fourfold, so that a walk over ranks that stops early costs O(n),
// and one that does not, O(n log n).
template <class Range, class Less>
size_t grow_sorted(Range& range, size_t sorted, size_t count, Less less) {
  if (count <= sorted) return sorted;
  constexpr size_t kFirst = 64;
  const size_t size = range.size();
  count = std::min(size, std::max({count, kFirst, sorted * 4}));
  const auto begin = range.begin() + static_cast<std::ptrdiff_t>(sorted);
  const auto middle = range.begin() + static_cast<std::ptrdiff_t>(count);
  if (count < size) std::nth_element(begin, middle, range.end(), less);
  std::sort(begin, middle, less);
  return count;
}

}  // namespace ingle
