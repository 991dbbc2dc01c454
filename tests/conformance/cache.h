// A cache of some sequences for tests: blocks in shuffled order in memory that starts as 0xff (NaN in every type), what
// was appended kept beside it in double precision.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "base/aligned_buffer.h"
#include "tests/conformance/data.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {

struct SequenceRows {
  int32_t before;  // positions already there
  int32_t rows;    // rows of this step
};

// The rows of one step, owning what a RowSet borrows.
struct Step {
  std::vector<int32_t> rows, positions;
  std::vector<RowRun> runs;

  void add_run(int32_t slot, int32_t first_position, int32_t count) {
    runs.push_back({slot, static_cast<int32_t>(rows.size()), count});
    for (int32_t i = 0; i < count; ++i) {
      rows.push_back(static_cast<int32_t>(rows.size()));
      positions.push_back(first_position + i);
    }
  }
  RowSet set() const { return {.rows = rows, .positions = positions, .runs = runs}; }
  // Ascending rows of this step; runs without rows are left out.
  Step only(const std::vector<int32_t>& kept) const {
    Step result;
    for (const RowRun& run : runs) {
      const auto first = static_cast<int32_t>(result.rows.size());
      for (int32_t r : kept) {
        if (r < run.first_row || r >= run.first_row + run.rows) continue;
        result.rows.push_back(r);
        result.positions.push_back(positions[static_cast<size_t>(r)]);
      }
      const auto count = static_cast<int32_t>(result.rows.size()) - first;
      if (count > 0) result.runs.push_back({run.slot, first, count});
    }
    return result;
  }
};

class Cache {
 public:
  Cache(const KvLayout& layout, std::vector<SequenceRows> sequences)
      : layout_(layout), sequences_(std::move(sequences)) {
    int32_t blocks = 0;
    for (const SequenceRows& s : sequences_) {
      const int32_t count = (s.before + s.rows + kKvBlockPositions - 1) / kKvBlockPositions;
      blocks += count;
      tables_.emplace_back(static_cast<size_t>(count));
    }
    std::vector<int32_t> order(static_cast<size_t>(blocks));
    for (int32_t i = 0; i < blocks; ++i) order[static_cast<size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(5));
    size_t next = 0;
    for (auto& table : tables_) {
      for (int32_t& block : table) block = order[next++];
    }
    // Blocks apart by more than their size, as where several layers share an allocation.
    stride_ = layout_.block_bytes() + 192;
    memory_ = AlignedBuffer(stride_ * static_cast<size_t>(blocks));
    std::memset(memory_.data(), 0xff, memory_.size());
    views_.assign(tables_.begin(), tables_.end());
    history_.resize(sequences_.size() * static_cast<size_t>(layout_.kv_heads));
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  KvLayer layer() const {
    return {.layout = layout_, .base = memory_.data(), .block_stride = stride_, .tables = views_};
  }
  std::span<const std::byte> bytes() const { return {memory_.data(), memory_.size()}; }
  const History& history(int32_t slot, int64_t head) const {
    return history_[static_cast<size_t>(slot * layout_.kv_heads + head)];
  }

  // Appends what was there before (in two pieces) and the rows of the step, which it returns.
  Step fill(Ops& ops, uint32_t seed) {
    for (int piece = 0; piece < 2; ++piece) {
      Step before;
      for (size_t s = 0; s < sequences_.size(); ++s) {
        const int32_t half = sequences_[s].before / 2, count = piece == 0 ? half : sequences_[s].before - half;
        if (count > 0) before.add_run(static_cast<int32_t>(s), piece == 0 ? 0 : half, count);
      }
      if (!before.rows.empty()) append(ops, before, seed + static_cast<uint32_t>(piece));
    }
    Step step;
    for (size_t s = 0; s < sequences_.size(); ++s)
      step.add_run(static_cast<int32_t>(s), sequences_[s].before, sequences_[s].rows);
    append(ops, step, seed + 2);
    return step;
  }

  void append(Ops& ops, const Step& step, uint32_t seed) {
    const int64_t rows = step.set().size();
    Rows k(rows, layout_.kv_heads * layout_.k_dim, seed), v(rows, layout_.kv_heads * layout_.v_dim, seed + 100);
    ops.append(layer(), Ops::split_heads(k.tensor(rows), layout_.kv_heads),
               Ops::split_heads(v.tensor(rows), layout_.kv_heads), step.set());
    for (const RowRun& run : step.runs) {
      for (int64_t r = run.first_row; r < run.first_row + run.rows; ++r) {
        for (int64_t h = 0; h < layout_.kv_heads; ++h) {
          History& history = history_[static_cast<size_t>(run.slot * layout_.kv_heads + h)];
          const float *key = k.row(r) + h * layout_.k_dim, *value = v.row(r) + h * layout_.v_dim;
          history.k.push_back(cached(layout_.k_type, CachePart::kKey, key, layout_.k_dim));
          history.v.push_back(cached(layout_.v_type, CachePart::kValue, value, layout_.v_dim));
          history.k_step.push_back(cache_step(layout_.k_type, CachePart::kKey, key, layout_.k_dim));
          history.v_step.push_back(cache_step(layout_.v_type, CachePart::kValue, value, layout_.v_dim));
        }
      }
    }
  }

  // Takes away blocks that no row of the step can see through a window.
  void drop_passed(int32_t window) {
    for (size_t s = 0; s < sequences_.size(); ++s) {
      const int32_t first = std::max(0, sequences_[s].before - window + 1);
      for (int32_t block = 0; block < first / kKvBlockPositions; ++block) tables_[s][static_cast<size_t>(block)] = -1;
    }
  }

 private:
  KvLayout layout_;
  std::vector<SequenceRows> sequences_;
  std::vector<std::vector<int32_t>> tables_;
  std::vector<std::span<const int32_t>> views_;
  size_t stride_ = 0;
  AlignedBuffer memory_;
  std::vector<History> history_;
};

}  // namespace ingle::conformance
