// Steps, and the operations that go over rows one by one.
#include "backend/cpu/cpu_ops.h"

#include <cmath>
#include <cstring>

#include "backend/cpu/op_scope.h"
#include "base/error.h"

namespace ingle::cpu {
namespace {

// Below this many numbers a parallel region costs more than it saves.
constexpr int64_t kSerialNumbers = 8192;

// body(row) for every row, in parallel when it is worth it.
template <class F>
void each_row(ThreadPool& pool, int64_t rows, int64_t row_size, F&& body) {
  if (rows * row_size <= kSerialNumbers || rows == 1) {
    for (int64_t r = 0; r < rows; ++r) body(r);
    return;
  }
  TaskCounter tasks(rows, std::max<int64_t>(1, rows / (4 * pool.size())));
  pool.run([&](int) {
    int64_t begin, end;
    while (tasks.next(begin, end)) {
      for (int64_t r = begin; r < end; ++r) body(r);
    }
  });
}

double float_bytes(int64_t count) { return 4.0 * static_cast<double>(count); }

}  // namespace

CpuOps::CpuOps(ThreadPool& pool, const CpuKernels& kernels, Precision precision)
    : pool_(pool), kernels_(kernels), precision_(precision) {}

void CpuOps::begin_step() {
  arena_.reset();
  step_arena_.reset();
  layer_mark_ = arena_.mark();
  rope_table_count_ = 0;
  layer_ = -1;
}

Tensor CpuOps::end_layer(Tensor x) {
  arena_.rewind(layer_mark_);
  if (x.empty()) return x;
  // x moves to where the layer began, which its old place may overlap; nothing is written there before it has moved. A
  // residual stream that is added to in place already stands there.
  auto* data = arena_.allocate_array<float>(x.shape.elements());
  if (data != x.data) std::memmove(data, x.data, static_cast<size_t>(x.shape.elements()) * sizeof(float));
  return {data, x.shape, make_memo()};
}

TensorMemo* CpuOps::make_memo() {
  auto* memo = arena_.allocate_array<TensorMemo>(1);
  *memo = TensorMemo{};
  return memo;
}

Tensor CpuOps::make_tensor(const Shape& shape) {
  auto* data = arena_.allocate_array<float>(shape.elements());
  return {data, shape, make_memo()};
}

void CpuOps::need_scratch(size_t bytes_per_thread) {
  bytes_per_thread = (bytes_per_thread + 4095) & ~size_t{4095};
  if (bytes_per_thread <= scratch_per_thread_) return;
  scratch_ = AlignedBuffer(bytes_per_thread * static_cast<size_t>(pool_.size()));
  scratch_per_thread_ = bytes_per_thread;
}

Tensor CpuOps::embed(const Matrix& table, std::span<const int32_t> tokens) {
  const auto& m = static_cast<const CpuMatrix&>(table);
  INGLE_CHECK(m.file_rows.data != nullptr);
  const auto rows = static_cast<int64_t>(tokens.size());
  const Scope scope(*this, "embed", rows, static_cast<double>(m.file_rows.row_bytes()) * static_cast<double>(rows), 0);
  Tensor result = make_tensor({rows, m.columns});
  const Format& format = format_of(m.file_type);
  each_row(pool_, rows, m.columns, [&](int64_t r) {
    format.decode(m.file_rows.row(tokens[static_cast<size_t>(r)]), result.row(r), m.columns);
  });
  return result;
}

Tensor CpuOps::norm(const Norm& n, Tensor x) {
  INGLE_CHECK(x.shape.columns() == n.size);
  const int64_t count = x.shape.elements() / n.size;
  const Scope scope(*this, "norm", x.rows(), 2 * float_bytes(x.shape.elements()),
                    4.0 * static_cast<double>(x.shape.elements()));
  Tensor result = make_tensor(x.shape);
  each_row(pool_, count, n.size,
           [&](int64_t r) { kernels_.rms_norm(x.data + r * n.size, n.gain, n.size, n.eps, result.data + r * n.size); });
  return result;
}

const CpuOps::RopeTable& CpuOps::rope_table(std::span<const int32_t> positions, const Rope& rope) {
  for (int i = 0; i < rope_table_count_; ++i) {
    const RopeTable& table = rope_tables_[i];
    if (table.positions == positions.data() && table.rope == &rope &&
        table.rows == static_cast<int64_t>(positions.size())) {
      return table;
    }
  }
  if (rope_table_count_ == kRopeTables)
    rope_table_count_ = 0;  // more kinds of rows and ropes than expected: only slower
  RopeTable& table = rope_tables_[rope_table_count_++];
  const auto pairs = static_cast<int64_t>(rope.inverse_frequency.size());
  const auto rows = static_cast<int64_t>(positions.size());
  table = {positions.data(), rows, &rope, step_arena_.allocate_array<float>(rows * pairs),
           step_arena_.allocate_array<float>(rows * pairs)};
  each_row(pool_, rows, 16 * pairs, [&](int64_t r) {
    for (int64_t i = 0; i < pairs; ++i) {
      // The angle is rounded to f32 as the models' own implementations do; its sine and cosine are exact for it.
      const float angle =
          static_cast<float>(positions[static_cast<size_t>(r)]) * rope.inverse_frequency[static_cast<size_t>(i)];
      table.cos[r * pairs + i] = static_cast<float>(std::cos(static_cast<double>(angle))) * rope.magnitude;
      table.sin[r * pairs + i] = static_cast<float>(std::sin(static_cast<double>(angle))) * rope.magnitude;
    }
  });
  return table;
}

void CpuOps::rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) {
  if (x.empty() || rope.rotated == 0) return;
  const int64_t heads = x.shape[1], head_dim = x.shape[2];
  INGLE_CHECK(x.shape.rank == 3 && x.rows() == static_cast<int64_t>(positions.size()));
  INGLE_CHECK(rope.rotated <= head_dim && rope.rotated == 2 * static_cast<int64_t>(rope.inverse_frequency.size()));
  const Scope scope(*this, "rope", x.rows(), 2 * float_bytes(x.shape.elements()),
                    3.0 * static_cast<double>(x.shape.elements()));
  const RopeTable& table = rope_table(positions, rope);
  const int64_t pairs = rope.rotated / 2;
  const auto kernel = rope.pairs == Rope::Pairs::kAdjacent ? kernels_.rope_adjacent : kernels_.rope_halves;
  each_row(pool_, x.rows(), x.row_size(), [&](int64_t r) {
    for (int64_t h = 0; h < heads; ++h)
      kernel(x.row(r) + h * head_dim, table.cos + r * pairs, table.sin + r * pairs, pairs);
  });
  if (x.memo != nullptr) *static_cast<TensorMemo*>(x.memo) = TensorMemo{};
}

Tensor CpuOps::gather_rows(Tensor x, std::span<const int32_t> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  const Scope scope(*this, "gather_rows", count, 2 * float_bytes(count * x.row_size()), 0);
  Shape shape = x.shape;
  shape.extent[0] = count;
  Tensor result = make_tensor(shape);
  for (int64_t r = 0; r < count; ++r) {
    std::memcpy(result.row(r), x.row(rows[static_cast<size_t>(r)]), static_cast<size_t>(x.row_size()) * sizeof(float));
  }
  return result;
}

void CpuOps::scale(Tensor x, float factor) {
  const Scope scope(*this, "scale", x.rows(), 2 * float_bytes(x.shape.elements()),
                    static_cast<double>(x.shape.elements()));
  each_row(pool_, x.rows(), x.row_size(), [&](int64_t r) { kernels_.scale(x.row(r), x.row_size(), factor); });
  if (x.memo != nullptr) *static_cast<TensorMemo*>(x.memo) = TensorMemo{};
}

void CpuOps::set_profile(bool on) {
  profiling_ = on;
  timings_.clear();
}

std::vector<OpTiming> CpuOps::profile() const {
  std::vector<OpTiming> lines;
  for (const auto& [key, line] : timings_) lines.push_back(line);
  return lines;
}

}  // namespace ingle::cpu
