// What this processor can do, as far as kernels care.
#pragma once

#include <string>

namespace ingle::cpu {

struct CpuFeatures {
  bool avx2 = false;  // with FMA and F16C
  bool avx_vnni = false;
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_vnni = false;
  bool neon_dotprod = false;
};

CpuFeatures detect_features() noexcept;
std::string describe(const CpuFeatures& features);  // "avx2 avx512 avx512_vnni"

}  // namespace ingle::cpu
