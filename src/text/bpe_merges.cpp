// A short word is rescanned after each merge, a long one goes through a heap.
#include "text/bpe_merges.h"

#include <algorithm>

#include "base/error.h"

namespace ingle {
namespace {

// Up to here rescanning all pairs after each merge is faster than a heap.
constexpr size_t kShortWord = 48;

}  // namespace

void BpeMerges::apply(std::vector<TokenId>& symbols, Scratch& scratch) const {
  if (symbols.size() <= kShortWord) {
    apply_short(symbols);
  } else {
    apply_long(symbols, scratch);
  }
}

void BpeMerges::apply_short(std::vector<TokenId>& symbols) const {
  constexpr Merge kNone{UINT32_MAX, -1};
  Merge merges[kShortWord];  // of symbol i with the next
  const auto look_up = [&](size_t i) {
    const Merge* found = i + 1 < symbols.size() ? table_.find(symbols[i], symbols[i + 1]) : nullptr;
    return found != nullptr ? *found : kNone;
  };
  for (size_t i = 0; i < symbols.size(); ++i) merges[i] = look_up(i);
  while (symbols.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < symbols.size(); ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].result < 0) return;
    symbols[best] = merges[best].result;
    std::move(merges + best + 2, merges + symbols.size(), merges + best + 1);
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    merges[best] = look_up(best);
    if (best > 0) merges[best - 1] = look_up(best - 1);
  }
}

// The same in O(n log n): symbols in a linked list, candidates in a heap, stale ones dropped when they come up.
void BpeMerges::apply_long(std::vector<TokenId>& symbols, Scratch& scratch) const {
  constexpr uint32_t kEnd = UINT32_MAX;
  const size_t n = symbols.size();
  if (n >= kEnd) throw_error(ErrorCode::kInvalidArgument, "text: a word of {} bytes is too long", n);
  auto& linked = scratch.linked;
  auto& heap = scratch.heap;
  linked.clear();
  heap.clear();
  for (uint32_t i = 0; i < n; ++i) {
    linked.push_back({symbols[i], i == 0 ? kEnd : i - 1, i + 1 == n ? kEnd : i + 1});
  }
  const auto push = [&](uint32_t left) {
    const TokenId a = linked[left].id, b = linked[linked[left].next].id;
    if (const Merge* found = table_.find(a, b)) {
      heap.push_back({found->rank, left, a, b});
      std::push_heap(heap.begin(), heap.end());
    }
  };
  for (uint32_t i = 0; i + 1 < n; ++i) push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Scratch::Candidate c = heap.back();
    heap.pop_back();
    Scratch::Symbol& left = linked[c.left];
    if (left.id != c.left_id || left.next == kEnd || linked[left.next].id != c.right_id) continue;
    Scratch::Symbol& right = linked[left.next];
    left.id = table_.find(c.left_id, c.right_id)->result;
    right.id = -1;
    left.next = right.next;
    if (left.next != kEnd) linked[left.next].previous = c.left;
    if (left.previous != kEnd) push(left.previous);
    if (left.next != kEnd) push(c.left);
  }
  symbols.clear();
  for (uint32_t i = 0; i != kEnd; i = linked[i].next) symbols.push_back(linked[i].id);
}

}  // namespace ingle
