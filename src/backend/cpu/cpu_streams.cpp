// Several residual streams per row.
#include <cstring>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/each_row.h"
#include "backend/cpu/op_scope.h"
#include "base/error.h"

namespace ingle::cpu {
namespace {

double float_bytes(int64_t count) { return 4.0 * static_cast<double>(count); }

}  // namespace

Tensor CpuOps::stream(Tensor streams, int64_t index) {
  INGLE_CHECK(streams.shape.rank == 3 && index < streams.shape[1]);
  const int64_t d = streams.shape[2];
  const Scope scope(*this, "stream", streams.rows(), 2 * float_bytes(streams.rows() * d), 0);
  Tensor result = make_tensor({streams.rows(), d});
  for (int64_t r = 0; r < streams.rows(); ++r)
    std::memcpy(result.row(r), streams.row(r) + index * d, static_cast<size_t>(d) * sizeof(float));
  return result;
}

Tensor CpuOps::stack(std::span<const Tensor> rows) {
  const int64_t d = rows[0].row_size();
  const auto count = static_cast<int64_t>(rows.size());
  const Scope scope(*this, "stack", rows[0].rows(), 2 * float_bytes(rows[0].rows() * d * count), 0);
  Tensor result = make_tensor({rows[0].rows(), count, d});
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& part = rows[static_cast<size_t>(i)];
    INGLE_CHECK(part.rows() == result.rows() && part.row_size() == d);
    for (int64_t r = 0; r < part.rows(); ++r)
      std::memcpy(result.row(r) + i * d, part.row(r), static_cast<size_t>(d) * sizeof(float));
  }
  return result;
}

Tensor CpuOps::mix(Tensor streams, Tensor weights) {
  const int64_t count = streams.shape[1], d = streams.shape[2];
  INGLE_CHECK(streams.shape.rank == 3 && weights.rows() == streams.rows() && weights.row_size() == count * count);
  const Scope scope(*this, "mix", streams.rows(), 2 * float_bytes(streams.shape.elements()),
                    2.0 * static_cast<double>(streams.shape.elements() * count));
  Tensor result = make_tensor(streams.shape);
  each_row(streams.rows(), streams.row_size(), [&](int64_t r) {
    std::memcpy(result.row(r), streams.row(r), static_cast<size_t>(streams.row_size()) * sizeof(float));
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < count; ++j)
        kernels_.blend(result.row(r) + i * d, 1.0f, streams.row(r) + j * d, weights.row(r)[i * count + j], d);
    }
  });
  return result;
}

void CpuOps::add_to_streams(Tensor streams, Tensor y, Tensor weights) {
  const int64_t count = streams.shape[1], d = streams.shape[2];
  INGLE_CHECK(y.rows() == streams.rows() && y.row_size() == d);
  INGLE_CHECK(weights.rows() == streams.rows() && weights.row_size() == count);
  const Scope scope(*this, "add_to_streams", streams.rows(), 2 * float_bytes(streams.shape.elements()),
                    2.0 * static_cast<double>(streams.shape.elements()));
  each_row(streams.rows(), streams.row_size(), [&](int64_t r) {
    for (int64_t i = 0; i < count; ++i) kernels_.blend(streams.row(r) + i * d, 1.0f, y.row(r), weights.row(r)[i], d);
  });
  changed(streams);
}

void CpuOps::add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) {
  Tensor rows = make_tensor({streams.rows(), static_cast<int64_t>(weights.size())});
  for (int64_t r = 0; r < rows.rows(); ++r) std::memcpy(rows.row(r), weights.data(), weights.size_bytes());
  add_to_streams(streams, y, rows);
}

}  // namespace ingle::cpu
