#include "runtime/planning_backend.h"

#include <algorithm>

#include "runtime/measuring_ops.h"

namespace ingle {
namespace {

std::unique_ptr<Matrix> describe(std::string name, const ConstTensorView& w, size_t bytes, double input_bytes,
                                 int product_bits) {
  auto matrix = std::make_unique<Matrix>();
  matrix->name = std::move(name);
  matrix->file_type = w.type;
  matrix->rows = w.shape.rows();
  matrix->columns = w.shape.columns();
  matrix->bytes = bytes;
  matrix->input_bytes = input_bytes;
  matrix->product_bits = product_bits;
  return matrix;
}

}  // namespace

// A few rows are really packed: how many bytes a row takes is the backend's business.
std::unique_ptr<Matrix> PlanningBackend::pack(std::string name, const ConstTensorView& w, Packing packing) {
  constexpr int64_t kSampleRows = 64;
  const int64_t rows = w.shape.rows();
  ConstTensorView sample = w;
  sample.shape = {std::min(rows, kSampleRows), w.shape.columns()};
  const std::unique_ptr<Matrix> packed = real_.pack(name, sample, packing);
  const double row_bytes = static_cast<double>(packed->bytes) / static_cast<double>(sample.shape.rows());
  return describe(name, w, static_cast<size_t>(row_bytes * static_cast<double>(rows)), packed->input_bytes,
                  packed->product_bits);
}

std::unique_ptr<Matrix> PlanningBackend::table(std::string name, const ConstTensorView& w) {
  return describe(std::move(name), w, 0, 0, 0);  // read in place
}

std::unique_ptr<Ops> PlanningBackend::make_ops() { return std::make_unique<MeasuringOps>(); }

}  // namespace ingle
