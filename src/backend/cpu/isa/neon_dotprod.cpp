// 64-bit ARM with the dot product extension (ARMv8.2 and later).
#include <arm_neon.h>

#include "backend/cpu/isa/isa.h"
#include "base/half.h"

#define INGLE_INLINE inline __attribute__((always_inline))
#define INGLE_REGISTER "+w"  // how assembly names a vector that is read and written

namespace ingle::cpu {
namespace neon_dotprod {
namespace {
// Each builds on those before it.
// clang-format off
#include "backend/cpu/simd/neon_f32x4.inl"
#include "backend/cpu/simd/neon_bytes.inl"
#include "backend/cpu/simd/neon_dot.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace neon_dotprod

const CpuKernels& neon_dotprod_kernels() {
  static constexpr CpuKernels kKernels = neon_dotprod::kernel_table("neon_dotprod");
  return kKernels;
}

}  // namespace ingle::cpu
