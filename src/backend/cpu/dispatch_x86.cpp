#include <cpuid.h>

#include <cstdint>

#include "backend/cpu/dispatch.h"
#include "backend/cpu/isa/isa.h"

namespace ingle::cpu {
namespace {

// Whether the system saves the registers: bits 1, 2 (AVX) and 5, 6, 7 (AVX-512) of XCR0. Intel SDM volume 1, 13.3.
uint64_t enabled_state() noexcept {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr IsaEntry kEntries[] = {
    {"avx512_vnni", [](const CpuFeatures& f) noexcept { return f.avx512 && f.avx512_vnni; }, avx512_vnni_kernels},
    {"avx_vnni", [](const CpuFeatures& f) noexcept { return f.avx2 && f.avx_vnni; }, avx_vnni_kernels},
    {"avx2", [](const CpuFeatures& f) noexcept { return f.avx2; }, avx2_kernels},
    {"scalar", [](const CpuFeatures&) noexcept { return true; }, scalar_kernels},
};

}  // namespace

CpuFeatures detect_features() noexcept {
  CpuFeatures f;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
  const bool fma = c >> 12 & 1, osxsave = c >> 27 & 1, avx = c >> 28 & 1, f16c = c >> 29 & 1;
  if (!osxsave || !avx) return f;
  const uint64_t state = enabled_state();
  if ((state & 0x6) != 0x6) return f;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  f.avx2 = (b >> 5 & 1) && fma && f16c;
  const bool zmm = (state & 0xe6) == 0xe6;
  f.avx512 = zmm && f.avx2 && (b >> 16 & 1) && (b >> 17 & 1) && (b >> 30 & 1) && (b >> 31 & 1);
  f.avx512_vnni = f.avx512 && (c >> 11 & 1);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) f.avx_vnni = f.avx2 && (a >> 4 & 1);
  return f;
}

std::span<const IsaEntry> isa_entries() noexcept { return kEntries; }

}  // namespace ingle::cpu
