// The avx2 kernels through SIMDe's portable intrinsics, for tests on processors that lack the instructions.
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

#include "backend/cpu/isa/simde.h"
#include "base/half.h"

#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC  // the one name that has no alias
// Emulated operations are long: inlined everywhere they would take minutes to compile.
#define INGLE_INLINE inline __attribute__((noinline))
#define INGLE_REGISTER "+m"  // no register holds a vector

namespace ingle::cpu {
namespace simde_avx2 {
namespace {
// Each builds on those before it.
// clang-format off
#include "backend/cpu/isa/simde_fused.inl"
#include "backend/cpu/simd/x86_reduce.inl"
#include "backend/cpu/simd/x86_f32x8.inl"
#include "backend/cpu/simd/x86_bytes_256.inl"
#include "backend/cpu/simd/x86_dot_avx2.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace simde_avx2

const CpuKernels& simde_avx2_kernels() {
  static constexpr CpuKernels kKernels = simde_avx2::kernel_table("avx2(simde)");
  return kKernels;
}

}  // namespace ingle::cpu
