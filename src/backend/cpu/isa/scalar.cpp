// Plain C++: runs anywhere.
#include <cstdint>

#include "backend/cpu/isa/isa.h"
#include "base/half.h"

#define INGLE_INLINE inline __attribute__((always_inline))
#define INGLE_REGISTER "+m"  // no register holds a vector

namespace ingle::cpu {
namespace scalar {
namespace {
// Each builds on those before it.
// clang-format off
#include "backend/cpu/simd/scalar.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace scalar

const CpuKernels& scalar_kernels() {
  static constexpr CpuKernels kKernels = scalar::kernel_table("scalar");
  return kKernels;
}

}  // namespace ingle::cpu
