#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "backend/cpu/dispatch.h"

namespace ingle::cpu {

// One line per instruction set, best first. Each declares the function it names, which stands in the instruction set's
// own file: nobody else needs it. (A function declared here is one of namespace ingle::cpu, so the table must not be in
// an unnamed one.)
// clang-format off
constexpr IsaEntry kEntries[] = {
    {"neon_i8mm", &CpuFeatures::neon_i8mm, [] { extern IsaKernels neon_i8mm_kernels; return neon_i8mm_kernels; }()},
    {"neon_dotprod", &CpuFeatures::neon_dotprod, [] { extern IsaKernels neon_dotprod_kernels; return neon_dotprod_kernels; }()},
    {"scalar", nullptr, [] { extern IsaKernels scalar_kernels; return scalar_kernels; }()},
};
// clang-format on

CpuFeatures detect_features() noexcept {
  CpuFeatures f;
  const unsigned long capabilities = getauxval(AT_HWCAP);
  f.neon_dotprod = (capabilities & HWCAP_ASIMDDP) && (capabilities & HWCAP_ASIMDHP);
  f.neon_i8mm = f.neon_dotprod && (getauxval(AT_HWCAP2) & HWCAP2_I8MM);
  return f;
}

std::span<const IsaEntry> isa_entries() noexcept { return kEntries; }

}  // namespace ingle::cpu
