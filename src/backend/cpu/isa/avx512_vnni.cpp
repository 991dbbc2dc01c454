// AVX-512 F, BW, DQ, VL with VNNI.
#include <immintrin.h>

#include "backend/cpu/isa/isa.h"
#include "base/half.h"

#define INGLE_INLINE inline __attribute__((always_inline))
#define INGLE_REGISTER "+v"  // how assembly names a vector that is read and written

namespace ingle::cpu {
namespace avx512_vnni {
namespace {
// Each builds on those before it.
// clang-format off
#include "backend/cpu/simd/x86_reduce.inl"
#include "backend/cpu/simd/x86_f32x16.inl"
#include "backend/cpu/simd/x86_bytes_512.inl"
#include "backend/cpu/simd/x86_dot_avx512_vnni.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace avx512_vnni

const CpuKernels& avx512_vnni_kernels() {
  static constexpr CpuKernels kKernels = avx512_vnni::kernel_table("avx512_vnni");
  return kKernels;
}

}  // namespace ingle::cpu
