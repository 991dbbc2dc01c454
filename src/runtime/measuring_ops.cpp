#include "runtime/measuring_ops.h"

namespace ingle {

Tensor MeasuringOps::result(const Shape& shape) {
  bytes_ += (static_cast<size_t>(shape.elements()) * sizeof(float) + 63) / 64 * 64;
  return {&never_read_, shape, nullptr};
}

Tensor MeasuringOps::embed(const Matrix& table, std::span<const int32_t> tokens) {
  return result({static_cast<int64_t>(tokens.size()), table.columns});
}

Tensor MeasuringOps::linear(const Linear& w, Tensor x, Into into) {
  return into.add_to.data != nullptr ? into.add_to : result({x.rows(), w.out()});
}

void MeasuringOps::linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) {
  auto target = results.begin();
  for (const LinearJob& job : jobs) **target++ = linear(*job.w, job.x, {});
}

Tensor MeasuringOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                               Into into) {
  result({x.rows(), gate.out()});  // act(gate x) * (up x)
  return linear(down, x, into);
}

Tensor MeasuringOps::norm(const Norm& n, Tensor x) { return result(x.shape); }

Tensor MeasuringOps::attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) {
  return result({q.rows(), q.shape[1] * kv.layout.v_dim});
}

Tensor MeasuringOps::gather_rows(Tensor x, std::span<const int32_t> rows) {
  Shape shape = x.shape;
  shape.extent[0] = static_cast<int64_t>(rows.size());
  return result(shape);
}

}  // namespace ingle
