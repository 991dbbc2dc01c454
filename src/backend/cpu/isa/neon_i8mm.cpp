// 64-bit ARM with the 8-bit matrix product extension (ARMv8.6, and some before).
#include <arm_neon.h>

#include "backend/cpu/isa/isa.h"
#include "base/half.h"

#define INGLE_INLINE inline __attribute__((always_inline))
#define INGLE_REGISTER "+w"  // how assembly names a vector that is read and written

namespace ingle::cpu {
namespace neon_i8mm {
namespace {
// Each builds on those before it.
// clang-format off
#include "backend/cpu/simd/neon_f32x4.inl"
#include "backend/cpu/simd/neon_bytes.inl"
#include "backend/cpu/simd/neon_i8mm.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace neon_i8mm

const CpuKernels& neon_i8mm_kernels() {
  static constexpr CpuKernels kKernels = neon_i8mm::kernel_table("neon_i8mm");
  return kKernels;
}

}  // namespace ingle::cpu
