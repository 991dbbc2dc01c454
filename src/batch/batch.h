// What one step works on: a ragged list of runs, each some new tokens of one sequence, and the rows whose result is
// wanted. Plain data: nothing in here computes, and nobody past this file knows "prefill" from "decode".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingle {

// Why a row's result is wanted; a row may have several reasons.
enum class RowWant : uint8_t {
  kNone = 0,
  kLogits = 1,  // to draw the next token from, or to look up the probability of the one that follows
  kHidden = 2,  // the last hidden row: an embedding, or what a drafter reads
  kScores = 4,  // what a classifier makes of it: a number for each of its labels
};
constexpr RowWant operator|(RowWant a, RowWant b) {
  return static_cast<RowWant>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr bool has(RowWant a, RowWant b) { return (static_cast<uint8_t>(a) & static_cast<uint8_t>(b)) != 0; }

// Rows [first_row, first_row + rows) of a batch or row set belong to one sequence, at ascending positions.
struct RowRun {
  int32_t slot;  // which sequence of the batch: index into KvLayer::tables
  int32_t first_row;
  int32_t rows;
};

struct Batch {
  std::vector<int32_t> tokens;     // [T]
  std::vector<int32_t> positions;  // [T]: position of each token in its sequence
  std::vector<int32_t> segments;   // [T]: 0, or 1 in the second of two texts that are read as a pair
  std::vector<RowWant> wants;      // [T]
  std::vector<RowRun> runs;        // in row order; a sequence appears once; slots are 0, 1, 2, ...

  int64_t rows() const noexcept { return static_cast<int64_t>(tokens.size()); }
  void clear() noexcept {
    tokens.clear();
    positions.clear();
    segments.clear();
    wants.clear();
    runs.clear();
  }
  // Appends a run at the next slot; every row gets `want`.
  void add_run(std::span<const int32_t> run_tokens, int32_t first_position, RowWant want = RowWant::kNone);
};

}  // namespace ingle
