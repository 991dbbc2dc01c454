#include <cpuid.h>

#include <cstdint>

#include "backend/cpu/dispatch.h"

namespace ingle::cpu {
namespace {

// Whether the system saves the registers: bits 1, 2 (AVX) and 5, 6, 7 (AVX-512) of XCR0. Intel SDM volume 1, 13.3.
uint64_t enabled_state() noexcept {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

}  // namespace

// One line per instruction set, best first. Each declares the function it names, which stands in the instruction set's
// own file: nobody else needs it. (A function declared here is one of namespace ingle::cpu, so the table must not be in
// an unnamed one.)
// clang-format off
constexpr IsaEntry kEntries[] = {
    {"avx512_vnni", &CpuFeatures::avx512_vnni, [] { extern IsaKernels avx512_vnni_kernels; return avx512_vnni_kernels; }()},
    {"avx_vnni", &CpuFeatures::avx_vnni, [] { extern IsaKernels avx_vnni_kernels; return avx_vnni_kernels; }()},
    {"avx2", &CpuFeatures::avx2, [] { extern IsaKernels avx2_kernels; return avx2_kernels; }()},
    {"scalar", nullptr, [] { extern IsaKernels scalar_kernels; return scalar_kernels; }()},
};
// clang-format on

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
