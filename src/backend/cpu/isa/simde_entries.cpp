#include "backend/cpu/isa/simde.h"

namespace ingle::cpu {
namespace {

constexpr bool anywhere(const CpuFeatures&) noexcept { return true; }

constexpr IsaEntry kEntries[] = {
    {"avx512_vnni(simde)", anywhere, simde_avx512_vnni_kernels},
    {"avx_vnni(simde)", anywhere, simde_avx_vnni_kernels},
    {"avx2(simde)", anywhere, simde_avx2_kernels},
};

}  // namespace

std::span<const IsaEntry> simde_entries() noexcept { return kEntries; }

}  // namespace ingle::cpu
