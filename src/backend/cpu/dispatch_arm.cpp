#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "backend/cpu/dispatch.h"
#include "backend/cpu/isa/isa.h"

namespace ingle::cpu {
namespace {

constexpr IsaEntry kEntries[] = {
    {"neon_dotprod", [](const CpuFeatures& f) noexcept { return f.neon_dotprod; }, neon_dotprod_kernels},
    {"scalar", [](const CpuFeatures&) noexcept { return true; }, scalar_kernels},
};

}  // namespace

CpuFeatures detect_features() noexcept {
  CpuFeatures f;
  const unsigned long capabilities = getauxval(AT_HWCAP);
  f.neon_dotprod = (capabilities & HWCAP_ASIMDDP) && (capabilities & HWCAP_ASIMDHP);
  return f;
}

std::span<const IsaEntry> isa_entries() noexcept { return kEntries; }

}  // namespace ingle::cpu
