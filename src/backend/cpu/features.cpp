#include "backend/cpu/features.h"

namespace ingle::cpu {

std::string describe(const CpuFeatures& features) {
  std::string text;
  const auto append = [&](bool present, const char* name) {
    if (!present) return;
    if (!text.empty()) text += ' ';
    text += name;
  };
  append(features.avx2, "avx2");
  append(features.avx_vnni, "avx_vnni");
  append(features.avx512, "avx512");
  append(features.avx512_vnni, "avx512_vnni");
  append(features.neon_dotprod, "neon_dotprod");
  append(features.neon_i8mm, "neon_i8mm");
  return text.empty() ? "none" : text;
}

}  // namespace ingle::cpu
