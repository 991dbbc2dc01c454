#include "ingle/adapter.h"

#include "base/error.h"
#include "runtime/adapter_impl.h"
#include "runtime/fingerprint.h"
#include "runtime/model_impl.h"

namespace ingle {
namespace {

const WeightStore& weights_of(const Model& model) {
  if (!model.impl().loaded.weights) {
    throw_error(ErrorCode::kInvalidArgument, "{}: was opened for its vocabulary only; it has no weights to adapt",
                model.info().path);
  }
  return *model.impl().loaded.weights;
}

}  // namespace

Adapter::Impl::Impl(const Model& opened, GgufFile adapter)
    : model(&opened.impl()),
      file(std::move(adapter)),
      weights(load_adapter(file, model->file, weights_of(opened), model->backend())),
      fingerprint(ingle::fingerprint(file)),
      info{.path = file.path(),
           .name = std::string(file.find_string("general.name").value_or("")),
           .tensors = static_cast<int64_t>(file.tensors().size()) / 2,
           .file_bytes = file.file_bytes(),
           .memory_bytes = weights.bytes()} {}

Adapter::Adapter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Adapter::Adapter(Adapter&&) noexcept = default;
Adapter& Adapter::operator=(Adapter&&) noexcept = default;
Adapter::~Adapter() = default;

Adapter Adapter::open(const Model& model, const std::filesystem::path& path) {
  return Adapter(std::make_unique<Impl>(model, GgufFile::open(path)));
}

const AdapterInfo& Adapter::info() const noexcept { return impl_->info; }

}  // namespace ingle
