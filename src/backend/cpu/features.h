// What this processor can do, as far as kernels care.
#pragma once

#include <string>

namespace ingle::cpu {

// Each says that all is there which its kernels use, operating system included.
struct CpuFeatures {
  bool avx2 = false;          // with FMA and F16C
  bool avx_vnni = false;      // and avx2
  bool avx512 = false;        // F, BW, DQ, VL, and avx2
  bool avx512_vnni = false;   // and avx512
  bool neon_dotprod = false;  // with half precision
  bool neon_i8mm = false;     // and neon_dotprod
};

CpuFeatures detect_features() noexcept;
std::string describe(const CpuFeatures& features);  // "avx2 avx512 avx512_vnni"

}  // namespace ingle::cpu
