// Row operations that the CPU has a fast version of: a row of the table in cpu_row_ops.cpp each. The others run their
// definition.
#pragma once

#include <span>

#include "backend/cpu/kernels.h"
#include "backend/row_ops.h"

namespace ingle::cpu {

struct FastRowOp {
  const RowOp* op;
  // As op->row, to rounding, with the kernels of one instruction set. A number of an elementwise operation must not
  // depend on where in the part it stands.
  void (*row)(const CpuKernels& kernels, const RowView& r) noexcept;
};

std::span<const FastRowOp> fast_row_ops() noexcept;

}  // namespace ingle::cpu
