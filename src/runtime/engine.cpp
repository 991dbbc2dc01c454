#include "ingle/engine.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/engine_impl.h"

namespace ingle {

Engine::Engine(EngineOptions options) : impl_(std::make_unique<Impl>()) {
  constexpr int kMaxThreads = 1024;
  if (options.threads < 0 || options.threads > kMaxThreads)
    throw_error(ErrorCode::kInvalidArgument, "threads: {} is not from 0 (one per core) to {}", options.threads,
                kMaxThreads);
  BackendOptions backend{.threads = options.threads,
                         .isa = options.isa,
                         .precision = options.exact ? Precision::kExact : Precision::kDefault};
  if (backend.threads == 0) backend.threads = std::max(1, machine().physical_cores);
  impl_->options = std::move(options);
  impl_->options.threads = backend.threads;
  impl_->backend = make_backend("cpu", backend);
  impl_->isa = impl_->options.isa.empty() ? isas().front() : impl_->options.isa;
}

Engine::~Engine() = default;

std::string Engine::device() const {
  return fmt::format("{}: {}", impl_->backend->name(), impl_->backend->description());
}
std::string Engine::isa() const { return impl_->isa; }
int Engine::threads() const noexcept { return impl_->options.threads; }
bool Engine::exact() const noexcept { return impl_->options.exact; }

}  // namespace ingle
