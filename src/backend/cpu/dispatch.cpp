#include "backend/cpu/dispatch.h"

namespace ingle::cpu {

const CpuKernels* select_kernels(std::string_view name, const CpuFeatures& features) noexcept {
  for (const IsaEntry& entry : isa_entries()) {
    if ((name.empty() || name == entry.name) && entry.runs(features)) return &entry.kernels();
  }
  return nullptr;
}

}  // namespace ingle::cpu
