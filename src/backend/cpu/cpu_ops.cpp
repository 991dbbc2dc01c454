// Steps, and operations that go over rows one by one: embed, norm, rope, gather_rows.
#include "backend/cpu/cpu_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/each_row.h"
#include "backend/cpu/op_scope.h"
#include "base/error.h"

namespace ingle::cpu {
namespace {

double float_bytes(int64_t count) { return 4.0 * static_cast<double>(count); }

}  // namespace

CpuOps::CpuOps(ThreadPool& pool, const CpuKernels& kernels) : pool_(pool), kernels_(kernels) {}

void CpuOps::begin_step() {
  arena_.reset();
  step_arena_.reset();
  layer_mark_ = arena_.mark();
  memory_layer_ = 0;
  kept_ = -1;
  rope_table_count_ = 0;
  layer_ = -1;
}

Tensor CpuOps::end_layer(Tensor x) {
  arena_.rewind(layer_mark_);
  ++memory_layer_;
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

Tensor CpuOps::embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) {
  const auto& m = static_cast<const CpuMatrix&>(table);
  INGLE_CHECK(m.file_rows.data != nullptr);
  const Format& format = format_of(m.file_type);
  const int64_t columns = options.columns > 0 ? options.columns : m.columns - options.first_column;
  INGLE_CHECK(options.first_column % format.block_elements == 0 && options.first_column + columns <= m.columns);
  const auto rows = static_cast<int64_t>(tokens.size());
  const Scope scope(*this, "embed", rows, static_cast<double>(format.row_bytes(columns)) * static_cast<double>(rows),
                    0);
  const bool add = into.add_to.data != nullptr;
  Tensor result = add ? into.add_to : make_tensor({rows, columns});
  INGLE_CHECK(result.rows() == rows && result.row_size() == columns);
  if (add) need_scratch(static_cast<size_t>(columns) * sizeof(float));
  each_row(rows, columns, [&](int64_t r, int thread) {
    float* row = add ? reinterpret_cast<float*>(thread_scratch(thread)) : result.row(r);
    format.decode(m.file_rows.row(tokens[static_cast<size_t>(r)]) + format.row_bytes(options.first_column), row,
                  columns);
    if (add) {
      kernels_.blend(result.row(r), 1.0f, row, options.scale, columns);
    } else if (options.scale != 1.0f) {
      kernels_.scale(row, columns, options.scale);
    }
  });
  if (add) changed(result);
  return result;
}

Tensor CpuOps::norm(const Norm& n, Tensor x, Into into) {
  INGLE_CHECK(x.shape.columns() == n.size && (n.centred || n.bias == nullptr));
  const int64_t count = x.shape.elements() / n.size;
  const bool add = into.add_to.data != nullptr;
  const Scope scope(*this, "norm", x.rows(), (add ? 3 : 2) * float_bytes(x.shape.elements()),
                    4.0 * static_cast<double>(x.shape.elements()));
  Tensor result = add ? into.add_to : make_tensor(x.shape);
  INGLE_CHECK(result.shape.elements() == x.shape.elements());
  each_row(count, n.size, [&](int64_t r) {
    const float* from = x.data + r * n.size;
    float* to = result.data + r * n.size;
    n.centred ? kernels_.layer_norm(from, n.gain, n.bias, n.size, n.eps, to, add)
              : kernels_.rms_norm(from, n.gain, n.size, n.eps, to, add);
  });
  if (add) changed(result);
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
  INGLE_CHECK(rope.rotated == 2 * pairs);
  const auto rows = static_cast<int64_t>(positions.size());
  table = {positions.data(), rows, &rope, step_arena_.allocate_array<float>(rows * pairs),
           step_arena_.allocate_array<float>(rows * pairs)};
  each_row(rows, 16 * pairs, [&](int64_t r) {
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

void CpuOps::turn(float* head, const RopeTable& table, int64_t row) const noexcept {
  const int64_t pairs = table.rope->rotated / 2;
  const auto kernel = table.rope->pairs == Rope::Pairs::kAdjacent ? kernels_.rope_adjacent : kernels_.rope_halves;
  kernel(head, table.cos + row * pairs, table.sin + row * pairs, pairs);
}

void CpuOps::rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) {
  if (x.empty() || rope.rotated == 0) return;
  const int64_t heads = x.shape[1], head_dim = x.shape[2];
  INGLE_CHECK(x.shape.rank == 3 && x.rows() == static_cast<int64_t>(positions.size()));
  INGLE_CHECK(rope.rotated <= head_dim);
  const Scope scope(*this, "rope", x.rows(), 2 * float_bytes(x.shape.elements()),
                    3.0 * static_cast<double>(x.shape.elements()));
  const RopeTable& table = rope_table(positions, rope);
  each_row(x.rows(), x.row_size(), [&](int64_t r) {
    for (int64_t h = 0; h < heads; ++h) turn(x.row(r) + h * head_dim, table, r);
  });
  changed(x);
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

Tensor CpuOps::columns(std::initializer_list<Columns> parts) {
  Shape shape = parts.begin()->x.shape;
  const int64_t rows = shape.rows();
  int64_t width = 0;
  for (const Columns& part : parts) {
    INGLE_CHECK(part.x.shape.rows() == rows && part.first >= 0 && part.first + part.count <= part.x.shape.columns());
    width += part.count;
  }
  shape.extent[static_cast<size_t>(shape.rank - 1)] = width;
  const Scope scope(*this, "columns", shape[0], 2 * float_bytes(rows * width), 0);
  Tensor result = make_tensor(shape);
  each_row(rows, width, [&](int64_t r) {
    float* to = result.data + r * width;
    for (const Columns& part : parts) {
      const float* from = part.x.data + r * part.x.shape.columns() + part.first;
      to = std::copy_n(from, part.count, to);
    }
  });
  return result;
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
