// Row need: which rows of a batch come into a layer, and which go on. After the last layer that writes state only
// wanted rows remain, and in that layer itself only the state-writing projections see all rows. A tap (somebody reads
// every row that comes into a layer) puts that off to the tapped layer, and no further. docs/row-need.md has pictures.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batch/batch.h"

namespace ingle {

// Some rows of a batch, ascending, with where each stands. Borrowed from a RowNeed.
struct RowSet {
  std::span<const int32_t> rows;       // index into the batch
  std::span<const int32_t> positions;  // per row of this set
  std::span<const int32_t> tokens;     // per row of this set
  std::span<const RowRun> runs;        // partition of this set's rows (runs without rows are left out)

  int64_t size() const noexcept { return static_cast<int64_t>(rows.size()); }
  bool empty() const noexcept { return rows.empty(); }
  // Behind the last position of a sequence that has rows here.
  int64_t end_of(int32_t slot) const noexcept;
};

// The rows of one layer. `in`: the rows its input has. `out`: the rows its output has.
struct LayerRows {
  const RowSet& in;
  const RowSet& out;
  std::span<const int32_t> selection;  // out's rows as indices into in's; used when cropped()

  bool cropped() const noexcept { return selection.size() != in.rows.size(); }
  // [in, ...] -> [out, ...]; x itself when nothing is cropped. `op` is the backend's Ops.
  template <class Ops, class Tensor>
  Tensor crop(Ops& op, Tensor x) const {
    return cropped() ? op.gather_rows(x, selection) : x;
  }
};

struct RowNeedOptions {
  int last_writer;         // index of the last layer that writes state (KV, recurrent, pool)
  int last_tap = -1;       // index of the last layer whose input is wanted of every row; -1: none is
  bool every_row = false;  // compute every row, for comparison
};

// Built once per step; holds the arrays that its RowSets and LayerRows point into, so it must outlive them. Reusable:
// assign() keeps the memory.
class RowNeed {
 public:
  RowNeed() = default;
  RowNeed(const Batch& batch, RowNeedOptions options) { assign(batch, options); }
  void assign(const Batch& batch, RowNeedOptions options);
  RowNeed(const RowNeed&) = delete;
  RowNeed& operator=(const RowNeed&) = delete;

  LayerRows layer(int index) const noexcept;
  const RowSet& all() const noexcept { return all_; }
  const RowSet& wanted() const noexcept { return wanted_; }
  // The layer where all rows come in and only the wanted ones go on; past the last layer with every_row.
  int crop_layer() const noexcept { return crop_layer_; }
  // All rows -> the wanted ones.
  LayerRows selection() const noexcept { return {all_, wanted_, wanted_rows_}; }
  // What comes out of the last layer -> the rows whose result is wanted (they differ only with every_row).
  LayerRows result() const noexcept;

 private:
  int crop_layer_ = 0;
  bool every_row_ = false;
  std::vector<int32_t> all_rows_, identity_, wanted_rows_;
  std::vector<int32_t> all_positions_, wanted_positions_, all_tokens_, wanted_tokens_;
  std::vector<RowRun> all_runs_, wanted_runs_;
  RowSet all_, wanted_;
};

}  // namespace ingle
