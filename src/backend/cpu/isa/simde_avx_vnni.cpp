// The avx_vnni kernels through SIMDe's portable intrinsics, for tests on processors that lack the instructions.
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

#include <simde/x86/avx512/dpbusd.h>
#include <simde/x86/avx512/dpwssd.h>

#include "backend/cpu/isa/simde.h"
#include "base/half.h"

#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC  // the one name that has no alias
// Emulated operations are long: inlined everywhere they would take minutes to compile.
#define INGLE_INLINE inline __attribute__((noinline))
#define INGLE_REGISTER "+m"  // no register holds a vector

namespace ingle::cpu {
namespace simde_avx_vnni {
namespace {
// SIMDe knows the instructions under their AVX-512 VL names.
INGLE_INLINE __m256i _mm256_dpbusd_avx_epi32(__m256i sum, __m256i a, __m256i b) {
  return simde_mm256_dpbusd_epi32(sum, a, b);
}
INGLE_INLINE __m256i _mm256_dpwssd_avx_epi32(__m256i sum, __m256i a, __m256i b) {
  return simde_mm256_dpwssd_epi32(sum, a, b);
}
// Each builds on those before it.
// clang-format off
#include "backend/cpu/isa/simde_fused.inl"
#include "backend/cpu/simd/x86_reduce.inl"
#include "backend/cpu/simd/x86_f32x8.inl"
#include "backend/cpu/simd/x86_bytes_256.inl"
#include "backend/cpu/simd/x86_dot_avx_vnni.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace simde_avx_vnni

const CpuKernels& simde_avx_vnni_kernels() {
  static constexpr CpuKernels kKernels = simde_avx_vnni::kernel_table("avx_vnni(simde)");
  return kKernels;
}

}  // namespace ingle::cpu
