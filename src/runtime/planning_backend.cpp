#include "runtime/planning_backend.h"

#include "runtime/measuring_ops.h"

namespace ingle {
namespace {

std::unique_ptr<Matrix> describe(std::string name, const ConstTensorView& w, size_t bytes) {
  auto matrix = std::make_unique<Matrix>();
  matrix->name = std::move(name);
  matrix->file_type = w.type;
  matrix->rows = w.shape.rows();
  matrix->columns = w.shape.columns();
  matrix->bytes = bytes;
  return matrix;
}

}  // namespace

std::unique_ptr<Matrix> PlanningBackend::pack(std::string name, const ConstTensorView& w) {
  return describe(std::move(name), w, w.bytes());
}

std::unique_ptr<Matrix> PlanningBackend::table(std::string name, const ConstTensorView& w) {
  return describe(std::move(name), w, 0);  // read in place
}

std::unique_ptr<Ops> PlanningBackend::make_ops() { return std::make_unique<MeasuringOps>(); }

}  // namespace ingle
