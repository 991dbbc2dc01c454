#include "backend/cpu/isa/simde.h"

namespace ingle::cpu {

// One line per instruction set, best first: all of them run anywhere. Each declares the function it names, which stands
// in the instruction set's own file: nobody else needs it. (A function declared here is one of namespace ingle::cpu, so
// the table must not be in an unnamed one.)
// clang-format off
constexpr IsaEntry kEntries[] = {
    {"avx512_vnni(simde)", nullptr, [] { extern IsaKernels simde_avx512_vnni_kernels; return simde_avx512_vnni_kernels; }()},
    {"avx_vnni(simde)", nullptr, [] { extern IsaKernels simde_avx_vnni_kernels; return simde_avx_vnni_kernels; }()},
    {"avx2(simde)", nullptr, [] { extern IsaKernels simde_avx2_kernels; return simde_avx2_kernels; }()},
};
// clang-format on

std::span<const IsaEntry> simde_entries() noexcept { return kEntries; }

}  // namespace ingle::cpu
