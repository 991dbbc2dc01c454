// AVX2, FMA, F16C.
#include <immintrin.h>

#include "backend/cpu/isa/isa.h"
#include "base/half.h"

#define INGLE_INLINE inline __attribute__((always_inline))
#define INGLE_REGISTER "+x"  // how assembly names a vector that is read and written

namespace ingle::cpu {
namespace avx2 {
namespace {
// Each builds on those before it.
// clang-format off
#include "backend/cpu/simd/x86_reduce.inl"
#include "backend/cpu/simd/x86_f32x8.inl"
#include "backend/cpu/simd/x86_bytes_256.inl"
#include "backend/cpu/simd/x86_dot_avx2.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace avx2

const CpuKernels& avx2_kernels() {
  static constexpr CpuKernels kKernels = avx2::kernel_table("avx2");
  return kKernels;
}

}  // namespace ingle::cpu
