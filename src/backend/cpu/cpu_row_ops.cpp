// Row operations on the CPU: cut into tasks, each with its fast version where the table has one.
#include "backend/cpu/cpu_row_ops.h"

#include <algorithm>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/each_row.h"
#include "backend/cpu/op_scope.h"
#include "base/error.h"

namespace ingle::cpu {
namespace {

using K = CpuKernels;

constexpr FastRowOp kFastRowOps[] = {
    {&kScale, [](const K& k, const RowView& r) noexcept { k.scale(r.x, r.n, r.a); }},
    {&kAddScaled, [](const K& k, const RowView& r) noexcept { k.blend(r.x, 1.0f, r.y, r.a, r.n); }},
    {&kScaleColumns, [](const K& k, const RowView& r) noexcept { k.multiply(r.x, r.vector, r.n); }},
    {&kSoftCap, [](const K& k, const RowView& r) noexcept { k.soft_cap(r.x, r.n, r.a); }},
    {&kGelu, [](const K& k, const RowView& r) noexcept { k.gelu(r.x, r.n); }},
    {&kSiluMul, [](const K& k, const RowView& r) noexcept { k.silu_mul(r.x, r.y, 0, 1, r.n, r.x, 0); }},
    {&kGeluMul, [](const K& k, const RowView& r) noexcept { k.gelu_mul(r.x, r.y, 0, 1, r.n, r.x, 0); }},
};

// Rows of logits are long and few: pieces of them are the tasks, 8192 numbers of a soft cap. Less work than this costs
// more to hand out than it takes, so pieces of a cheap operation are longer.
constexpr double kPieceOperations = 10 * 8192;

// Numbers of a row that are one task.
int64_t piece_size(const RowOp& op, int64_t n) {
  if (!op.elementwise) return n;
  return std::clamp<int64_t>(static_cast<int64_t>(kPieceOperations / std::max(1.0, op.operations_per_number)), 1, n);
}

}  // namespace

std::span<const FastRowOp> fast_row_ops() noexcept { return kFastRowOps; }

void CpuOps::apply(const RowOp& op, Tensor x, const RowOperands& operands) {
  if (x.shape.elements() == 0) return;
  const int64_t n = x.row_size();
  const Tensor& y = operands.y;
  INGLE_CHECK(!op.reads_y || (y.data != nullptr && y.rows() == x.rows()));
  INGLE_CHECK(!op.reads_y || (operands.column >= 0 && operands.column + n <= y.row_size()));
  INGLE_CHECK(!op.reads_vector || operands.vector != nullptr);
  const auto numbers = static_cast<double>(x.shape.elements());
  const Scope scope(*this, op.name, x.rows(), (op.reads_y ? 12 : 8) * numbers, op.operations_per_number * numbers);
  decltype(FastRowOp::row) fast = nullptr;
  for (const FastRowOp& entry : kFastRowOps) {
    if (entry.op == &op) fast = entry.row;
  }
  const int64_t piece = piece_size(op, n), pieces = (n + piece - 1) / piece;
  each_row(x.rows() * pieces, piece, [&](int64_t task) {
    const int64_t r = task / pieces, begin = task % pieces * piece;
    const RowView view{.x = x.row(r) + begin,
                       .n = std::min(piece, n - begin),
                       .y = op.reads_y ? y.row(r) + operands.column + begin : nullptr,
                       .vector = op.reads_vector ? operands.vector + begin : nullptr,
                       .a = operands.a,
                       .b = operands.b};
    fast != nullptr ? fast(kernels_, view) : op.row(view);
  });
  changed(x);
}

}  // namespace ingle::cpu
