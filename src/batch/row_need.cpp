#include "batch/row_need.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ingle {

int64_t RowSet::end_of(int32_t slot) const noexcept {
  const RowRun& run = *std::ranges::lower_bound(runs, slot, {}, &RowRun::slot);
  return positions[static_cast<size_t>(run.first_row + run.rows - 1)] + int64_t{1};
}

void RowNeed::assign(const Batch& batch, RowNeedOptions options) {
  crop_layer_ = options.every_row ? std::numeric_limits<int>::max() : std::max(options.last_writer, options.last_tap);
  every_row_ = options.every_row;
  all_rows_.resize(static_cast<size_t>(batch.rows()));
  std::iota(all_rows_.begin(), all_rows_.end(), 0);
  all_positions_ = batch.positions;
  all_tokens_ = batch.tokens;
  all_runs_ = batch.runs;

  wanted_rows_.clear();
  wanted_positions_.clear();
  wanted_tokens_.clear();
  wanted_runs_.clear();
  for (const RowRun& run : batch.runs) {
    const auto first = static_cast<int32_t>(wanted_rows_.size());
    for (int32_t row = run.first_row; row < run.first_row + run.rows; ++row) {
      if (batch.wants[static_cast<size_t>(row)] == RowWant::kNone) continue;
      wanted_rows_.push_back(row);
      wanted_positions_.push_back(batch.positions[static_cast<size_t>(row)]);
      wanted_tokens_.push_back(batch.tokens[static_cast<size_t>(row)]);
    }
    const auto rows = static_cast<int32_t>(wanted_rows_.size()) - first;
    if (rows > 0) wanted_runs_.push_back({run.slot, first, rows});
  }
  identity_.resize(wanted_rows_.size());
  std::iota(identity_.begin(), identity_.end(), 0);
  all_ = {all_rows_, all_positions_, all_tokens_, all_runs_};
  wanted_ = {wanted_rows_, wanted_positions_, wanted_tokens_, wanted_runs_};
}

LayerRows RowNeed::layer(int index) const noexcept {
  if (index < crop_layer_) return {all_, all_, all_rows_};
  if (index == crop_layer_) return selection();
  return {wanted_, wanted_, identity_};
}

LayerRows RowNeed::result() const noexcept {
  if (every_row_) return selection();
  return {wanted_, wanted_, identity_};
}

}  // namespace ingle
