#include "ingle/tensor_swap.h"

#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"
#include "runtime/model_impl.h"
#include "runtime/session_impl.h"
#include "runtime/swapping_ops.h"

namespace ingle {
struct TensorSwap::Impl {
  Impl(Session& session_, const std::filesystem::path& other) : session(session_), file(GgufFile::open(other)) {
    auto swapping = std::make_unique<SwappingOps>(std::move(session.impl().ops));
    ops = swapping.get();
    session.impl().set_ops(std::move(swapping));
  }
  ~Impl() { session.impl().set_ops(ops->release()); }

  bool take(const std::string& tensor) {
    ops->matrices.clear();
    packed.clear();
    const Model::Impl& model = session.model().impl();
    const auto own = model.file.find(tensor), other = file.find(tensor);
    if (!own) return false;
    if (!other || other->shape != own->shape)
      throw_error(ErrorCode::kInvalidFile, "{}: has no {} of shape {}", file.path(), tensor, to_string(own->shape));
    const WeightStore& weights = *model.loaded.weights;
    for (size_t i = 0; i < weights.matrices.size(); ++i) {
      const Matrix& matrix = *weights.matrices[i];
      const MatrixSource& source = weights.sources[i];
      if (source.tensor != tensor || source.transposed) continue;
      ConstTensorView view = *other;
      view.data = other->row(source.first_row);
      view.shape = {matrix.rows, matrix.columns};
      packed.push_back(source.table ? model.backend().table(matrix.name, view)
                                    : model.backend().pack(matrix.name, view));
      ops->matrices[&matrix] = packed.back().get();
    }
    return !packed.empty();
  }

  Session& session;
  const GgufFile file;
  SwappingOps* ops = nullptr;
  std::vector<std::unique_ptr<Matrix>> packed;
};

TensorSwap::TensorSwap(Session& session, const std::filesystem::path& other)
    : impl_(std::make_unique<Impl>(session, other)) {}
TensorSwap::~TensorSwap() = default;
bool TensorSwap::take(const std::string& tensor) { return impl_->take(tensor); }

}  // namespace ingle
