#include "ingle/tensor_swap.h"

#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"
#include "runtime/matrix_place.h"
#include "runtime/model_impl.h"
#include "runtime/session_impl.h"
#include "runtime/swapping_ops.h"

namespace ingle {
namespace {

// Tables are read row by row and were not packed.
bool is_table(const std::string& tensor) {
  return tensor == "token_embd.weight" || tensor == "per_layer_token_embd.weight";
}

}  // namespace

struct TensorSwap::Impl {
  Impl(Session& session_, const std::filesystem::path& other) : session(session_), file(GgufFile::open(other)) {
    auto swapping = std::make_unique<SwappingOps>(std::move(session.impl().ops));
    ops = swapping.get();
    session.impl().ops = std::move(swapping);
  }
  ~Impl() { session.impl().ops = ops->release(); }

  bool take(const std::string& tensor) {
    ops->matrices.clear();
    packed.clear();
    const Model::Impl& model = session.model().impl();
    const auto own = model.file.find(tensor), other = file.find(tensor);
    if (!own) return false;
    if (!other || other->shape != own->shape)
      throw_error(ErrorCode::kInvalidFile, "{}: has no {} of shape {}", file.path(), tensor, to_string(own->shape));
    bool table = is_table(tensor);  // of several matrices of this name the first
    for (const MatrixPlace& place : places_of(*model.loaded.weights, model.file)) {
      if (place.tensor != tensor) continue;
      ConstTensorView view = *other;
      view.data = other->row(place.first_row);
      view.shape = {place.matrix->rows, place.matrix->columns};
      packed.push_back(table ? model.backend().table(place.matrix->name, view)
                             : model.backend().pack(place.matrix->name, view));
      ops->matrices[place.matrix] = packed.back().get();
      table = false;
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
