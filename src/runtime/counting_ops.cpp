#include "runtime/counting_ops.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ingle {
namespace {

double file_bytes(const Matrix& w) {
  return static_cast<double>(format_of(w.file_type).row_bytes(w.columns)) * static_cast<double>(w.rows);
}

double weights_of(const Matrix& w) { return static_cast<double>(w.rows) * static_cast<double>(w.columns); }

}  // namespace

void CountingOps::begin_step() {
  MeasuringOps::begin_step();
  work_ = {};
  read_.clear();
}

void CountingOps::multiply(const Matrix& w, double rows) {
  const double multiply_adds = rows * weights_of(w);
  if (w.product_bits == 0) {
    work_.float_multiply_adds += multiply_adds;
  } else {
    INGLE_CHECK(w.product_bits > 0 && w.product_bits < static_cast<int>(work_.int8_multiply_adds.size()));
    work_.int8_multiply_adds[static_cast<size_t>(w.product_bits)] += multiply_adds;
  }
}

void CountingOps::read(const Matrix& w) {
  if (read_.insert(&w).second) work_.weight_bytes += file_bytes(w);
}

void CountingOps::count(const Linear& w, int64_t rows) {
  if (rows == 0) return;
  multiply(*w.weight, static_cast<double>(rows));
  read(*w.weight);
}

Tensor CountingOps::embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options,
                          Into into) {
  const int64_t columns = options.columns > 0 ? options.columns : table.columns - options.first_column;
  work_.weight_bytes +=
      static_cast<double>(format_of(table.file_type).row_bytes(columns)) * static_cast<double>(tokens.size());
  return MeasuringOps::embed(table, tokens, options, into);
}

Tensor CountingOps::linear(const Linear& w, Tensor x, Into into) {
  if (!inside_) count(w, x.empty() ? 0 : x.rows());
  return MeasuringOps::linear(w, x, into);
}

Tensor CountingOps::linear_by_head(std::span<const Linear> w, Tensor x) {
  for (const Linear& head : w) count(head, x.empty() ? 0 : x.rows());
  return MeasuringOps::linear_by_head(w, x);
}

Tensor CountingOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                              Into into) {
  const bool outermost = !std::exchange(inside_, true);
  if (outermost) {
    const int64_t rows = x.empty() ? 0 : x.rows();
    for (const Linear* w : {&gate, &up, &down}) count(*w, rows);
  }
  const Tensor result = MeasuringOps::gated_mlp(gate, up, down, act, x, into);
  if (outermost) inside_ = false;
  return result;
}

// Which experts the rows go to is not known: they may all go to the same ones, so that many are read at least.
Tensor CountingOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  if (!x.empty()) {
    const double each = static_cast<double>(routes.rows * routes.used) / static_cast<double>(experts.down.size());
    const double share = static_cast<double>(routes.used) / static_cast<double>(experts.down.size());
    for (const std::vector<Linear>* matrices : {&experts.gate, &experts.up, &experts.down}) {
      for (const Linear& w : *matrices) {
        multiply(*w.weight, each);
        work_.weight_bytes += share * file_bytes(*w.weight);
      }
    }
  }
  inside_ = true;
  const Tensor result = MeasuringOps::experts_mlp(experts, routes, x, into);
  inside_ = false;
  return result;
}

Tensor CountingOps::attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) {
  const auto first_visible = [&](int64_t position) {
    return options.window > 0 ? std::max<int64_t>(0, position - options.window + 1) : 0;
  };
  // Behind the last position that a row of some sequence sees.
  const auto end_of = [&](int32_t slot, int64_t position) {
    return options.whole == nullptr ? position + 1 : options.whole->end_of(slot);
  };
  double pairs = 0;
  for (const RowRun& run : rows.runs) {
    for (const int32_t position :
         rows.positions.subspan(static_cast<size_t>(run.first_row), static_cast<size_t>(run.rows)))
      pairs += static_cast<double>(end_of(run.slot, position) - first_visible(position));
  }
  const int64_t heads = q.shape[1];
  work_.attention_multiply_adds +=
      pairs * static_cast<double>(heads) * static_cast<double>(q.shape[2] + kv.layout.v_dim);
  // Layers that share a cache stand on the same memory: read once.
  if (read_.insert(kv.base).second) {
    const double position_bytes = static_cast<double>(kv.layout.block_bytes()) / kKvBlockPositions;
    for (const RowRun& run : rows.runs) {
      const int64_t first = rows.positions[static_cast<size_t>(run.first_row)];
      const int64_t last = rows.positions[static_cast<size_t>(run.first_row + run.rows - 1)];
      work_.cache_bytes += position_bytes * static_cast<double>(end_of(run.slot, last) - first_visible(first));
    }
  }
  return MeasuringOps::attention(q, kv, rows, options);
}

}  // namespace ingle
