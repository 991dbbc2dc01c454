#include "runtime/measuring_ops.h"

#include <algorithm>

namespace ingle {

void MeasuringOps::begin_step() {
  live_ = kept_ = peak_ = 0;
  forms_.clear();
}

void MeasuringOps::take(double bytes) {
  live_ += (static_cast<size_t>(bytes) + 63) / 64 * 64;
  peak_ = std::max(peak_, live_);
}

Tensor MeasuringOps::result(const Shape& shape) {
  take(static_cast<double>(shape.elements()) * sizeof(float));
  take(64);  // the memo
  forms_.emplace_back();
  return {&never_read_, shape, &forms_.back()};
}

void MeasuringOps::take_form(const Linear& w, Tensor x) {
  auto* form = static_cast<Form*>(x.memo);
  if (form == nullptr || form->counted[w.fine] || w.weight->input_bytes == 0) return;
  form->counted[w.fine] = true;
  take(w.weight->input_bytes * (w.fine ? 2 : 1) * static_cast<double>(x.shape.elements()));
}

Tensor MeasuringOps::end_layer(Tensor x) {
  live_ = kept_;
  return x.empty() ? x : result(x.shape);
}

Tensor MeasuringOps::embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options,
                           Into into) {
  if (into.add_to.data != nullptr) return into.add_to;
  const int64_t columns = options.columns > 0 ? options.columns : table.columns - options.first_column;
  return result({static_cast<int64_t>(tokens.size()), columns});
}

Tensor MeasuringOps::linear(const Linear& w, Tensor x, Into into) {
  const Tensor r = into.add_to.data != nullptr ? into.add_to : result({x.rows(), w.out()});
  take_form(w, x);
  return r;
}

void MeasuringOps::linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) {
  auto target = results.begin();
  for (const LinearJob& job : jobs) **target++ = linear(*job.w, job.x, {});
}

// What lies in the order of heads is gone when the result is there.
Tensor MeasuringOps::linear_by_head(std::span<const Linear> w, Tensor x) {
  const Tensor r = result({x.rows(), static_cast<int64_t>(w.size()), w[0].out()});
  const size_t before = live_;
  const double in = w[0].weight->input_bytes > 0 ? w[0].weight->input_bytes * (w[0].fine ? 2 : 1) : sizeof(float);
  take(in * static_cast<double>(x.shape.elements()) + 4.0 * static_cast<double>(r.shape.elements()));
  take(20.0 * static_cast<double>(x.rows()) * static_cast<double>(w.size()) + 256.0 * static_cast<double>(w.size()));
  live_ = before;
  return r;
}

Tensor MeasuringOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                               Into into) {
  take_form(gate, x);
  // act(gate x) * (up x) exists only in the form that `down` reads, or as two rows of floats.
  if (down.weight->input_bytes > 0) {
    take(down.weight->input_bytes * (down.fine ? 2 : 1) * static_cast<double>(x.rows() * down.in()));
    return into.add_to.data != nullptr ? into.add_to : result({x.rows(), down.out()});
  }
  result({x.rows(), gate.out()});
  result({x.rows(), gate.out()});
  return linear(down, x, into);
}

Routes MeasuringOps::route(Tensor scores, int64_t used, const RouteOptions& options) {
  const int64_t orders = scores.shape.elements() + scores.rows() * options.groups;
  take(8.0 * static_cast<double>(scores.rows() * used + orders));
  return {scores.rows(), used, nullptr, nullptr};
}

// Rows in the order of experts, in the forms that products read; what gate and up read is gone when down writes.
Tensor MeasuringOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  const Linear &gate = experts.gate[0], &up = experts.up[0], &down = experts.down[0];
  const int64_t assignments = routes.rows * routes.used;
  const auto count = static_cast<double>(experts.down.size());
  const Tensor sum = into.add_to.data != nullptr ? into.add_to : result({routes.rows, down.out()});
  take(16.0 * static_cast<double>(assignments) + 512.0 * count);  // lists and jobs
  const auto take_rows = [&](const Linear& w) {
    const double bytes = w.weight->input_bytes > 0 ? w.weight->input_bytes * (w.fine ? 2 : 1) : sizeof(float);
    take(bytes * static_cast<double>(assignments * w.in()) + 64.0 * count);
  };
  const bool fused = gate.weight->input_bytes > 0 && up.weight->input_bytes > 0 && down.weight->input_bytes > 0;
  if (fused) {
    take_rows(down);
  } else {
    result({assignments, gate.out()});
  }
  const size_t before = live_;
  if (!fused) result({assignments, gate.out()});
  take_rows(gate);
  if (up.fine != gate.fine || up.weight->input_bytes != gate.weight->input_bytes) take_rows(up);
  live_ = before;
  if (!fused && down.weight->input_bytes > 0) take_rows(down);
  result({assignments, down.out()});
  return sum;
}

Tensor MeasuringOps::norm(const Norm& n, Tensor x, Into into) {
  return into.add_to.data != nullptr ? into.add_to : result(x.shape);
}

Tensor MeasuringOps::attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) {
  return result({q.rows(), q.shape[1] * kv.layout.v_dim});
}

Tensor MeasuringOps::columns(std::initializer_list<Columns> parts) {
  Shape shape = parts.begin()->x.shape;
  int64_t& width = shape.extent[static_cast<size_t>(shape.rank - 1)];
  width = 0;
  for (const Columns& part : parts) width += part.count;
  return result(shape);
}

Tensor MeasuringOps::gather_rows(Tensor x, std::span<const int32_t> rows) {
  Shape shape = x.shape;
  shape.extent[0] = static_cast<int64_t>(rows.size());
  return result(shape);
}

}  // namespace ingle
