// AVX2 with AVX-VNNI.
#include <immintrin.h>

#include "backend/cpu/isa/isa.h"
#include "base/half.h"

#define INGLE_INLINE inline __attribute__((always_inline))
#define INGLE_REGISTER "+x"  // how assembly names a vector that is read and written

namespace ingle::cpu {
namespace avx_vnni {
namespace {
// Each builds on those before it.
// clang-format off
#include "backend/cpu/simd/x86_reduce.inl"
#include "backend/cpu/simd/x86_f32x8.inl"
#include "backend/cpu/simd/x86_bytes_256.inl"
#include "backend/cpu/simd/x86_dot_avx_vnni.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace avx_vnni

const CpuKernels& avx_vnni_kernels() {
  static constexpr CpuKernels kKernels = avx_vnni::kernel_table("avx_vnni");
  return kKernels;
}

}  // namespace ingle::cpu
