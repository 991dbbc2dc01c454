// The heart of byte-pair encoding: neighbours among a word's symbols are joined, the pair of the lowest rank first, of
// equal ones the leftmost, until no pair is in the table.
#pragma once

#include <cstdint>
#include <vector>

#include "text/token_map.h"
#include "text/tokenizer.h"

namespace ingle {

// Two tokens side by side, and what they become. A list of them is in the order of their ranks.
struct BpeMerge {
  TokenId left, right, result;
};

// Immutable once filled; then many threads may use it, each with its own scratch.
class BpeMerges {
 public:
  explicit BpeMerges(size_t capacity) : table_(capacity) {}

  // Ids are not negative. False, and nothing happens, when the pair is there already. At most `capacity` pairs.
  bool add(TokenId left, TokenId right, uint32_t rank, TokenId result) {
    return table_.insert(left, right, {rank, result});
  }

  // Memory for one thread's merging.
  class Scratch {
    friend class BpeMerges;
    struct Symbol {
      TokenId id;  // -1: joined into one further left
      uint32_t previous, next;
    };
    struct Candidate {
      uint32_t rank, left;
      TokenId left_id, right_id;  // what it was made for; if either has changed since, it is stale

      // Of a max-heap, so the smallest rank, then the leftmost, comes first.
      bool operator<(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : left > other.left;
      }
    };
    std::vector<Symbol> linked;
    std::vector<Candidate> heap;
  };

  // O(n log n) in the number of symbols. Throws Error{kInvalidArgument} above 2^32 - 2 symbols.
  void apply(std::vector<TokenId>& symbols, Scratch& scratch) const;

 private:
  struct Merge {
    uint32_t rank = 0;
    TokenId result = 0;
  };

  void apply_short(std::vector<TokenId>& symbols) const;
  void apply_long(std::vector<TokenId>& symbols, Scratch& scratch) const;

  PairMap<Merge> table_;
};

}  // namespace ingle
