// A weight matrix as the CPU keeps it, and the choice of layout.
#pragma once

#include <mutex>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "base/aligned_buffer.h"
#include "base/thread_pool.h"

namespace ingle::cpu {

// Memory for many matrices from few large pieces, so that small matrices lie on huge pages too. A piece goes when the
// last matrix in it goes: that is why matrices share it. Thread-safe.
class MatrixStorage {
 public:
  struct Part {
    std::shared_ptr<const AlignedBuffer> piece;
    std::byte* data = nullptr;
    size_t bytes = 0;
  };
  Part allocate(size_t bytes);  // 64-byte aligned, zero

 private:
  std::mutex mutex_;
  std::shared_ptr<AlignedBuffer> piece_;
  size_t used_ = 0;
};

// Integer panels, float panels, or rows as in the file (tables, quantised weights for --exact, weights that stay in the
// mapped file). A mapped matrix with an integer format has no storage: its panels are packed where they are used.
class CpuMatrix final : public Matrix {
 public:
  const IntFormat* int_format = nullptr;
  const FloatFormat* float_format = nullptr;
  ConstTensorView file_rows;    // set when the rows stay as in the file
  MatrixStorage::Part storage;  // panels, or the copied rows
  size_t panel_bytes = 0;

  int64_t blocks() const noexcept { return columns / 32; }
  bool packs_per_use() const noexcept { return int_format != nullptr && storage.data == nullptr; }
  int64_t panels(int panel_rows) const noexcept { return (rows + panel_rows - 1) / panel_rows; }
  const uint8_t* panel(int64_t index) const noexcept {
    return reinterpret_cast<const uint8_t*>(storage.data) + static_cast<size_t>(index) * panel_bytes;
  }
  // Panel `index` of file rows w, into `out`.
  void pack_panel(const ConstTensorView& w, int64_t index, int panel_rows, uint8_t* out) const noexcept;
};

// Packs a weight for products. Quantised formats with a packed kernel keep their size; others become f16 (f32 where f16
// would overflow). With kExact quantised weights stay as in the file and are decoded where they are used.
std::unique_ptr<CpuMatrix> pack_matrix(std::string name, const ConstTensorView& w, const CpuKernels& kernels,
                                       Precision precision, MatrixStorage& memory, ThreadPool& pool);
// The same without a copy, for a model that memory does not hold packed.
std::unique_ptr<CpuMatrix> map_matrix(std::string name, const ConstTensorView& w, const CpuKernels& kernels,
                                      Precision precision);
// Keeps a view of the file's rows.
std::unique_ptr<CpuMatrix> table_matrix(std::string name, const ConstTensorView& w);

}  // namespace ingle::cpu
