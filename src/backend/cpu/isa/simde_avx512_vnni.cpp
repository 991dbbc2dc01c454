// The avx512_vnni kernels through SIMDe's portable intrinsics, for tests on processors that lack the instructions.
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

#include "backend/cpu/isa/simde.h"
#include "base/half.h"

#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC  // the one name that has no alias
// Emulated operations are long: inlined everywhere they would take minutes to compile.
#define INGLE_INLINE inline __attribute__((noinline))
#define INGLE_REGISTER "+m"  // no register holds a vector

namespace ingle::cpu {
namespace simde_avx512_vnni {
namespace {

using __mmask16 = simde__mmask16;

// What SIMDe 0.7.4 lacks, by halves (or by number where there is no half).
union Halves {
  __m512 f;
  __m512i i;
  __m256 half_f[2];
  __m256i half_i[2];
  __m128i quarter_i[4];
  float number[16];
  int32_t whole[16];
};
INGLE_INLINE __m512 join(__m256 low, __m256 high) {
  Halves h;
  h.half_f[0] = low;
  h.half_f[1] = high;
  return h.f;
}
INGLE_INLINE __m512i join(__m256i low, __m256i high) {
  Halves h;
  h.half_i[0] = low;
  h.half_i[1] = high;
  return h.i;
}
INGLE_INLINE Halves halves(__m512 x) {
  Halves h;
  h.f = x;
  return h;
}
INGLE_INLINE Halves halves(__m512i x) {
  Halves h;
  h.i = x;
  return h;
}
template <int kOrder>
INGLE_INLINE __m512 permute_ps(__m512 x) {
  const Halves h = halves(x);
  return join(_mm256_permute_ps(h.half_f[0], kOrder), _mm256_permute_ps(h.half_f[1], kOrder));
}
#define _mm512_permute_ps(x, order) permute_ps<order>(x)
INGLE_INLINE __m512 _mm512_fmaddsub_ps(__m512 a, __m512 b, __m512 c) {
  const Halves x = halves(a), y = halves(b), z = halves(c);
  return join(_mm256_addsub_ps(_mm256_mul_ps(x.half_f[0], y.half_f[0]), z.half_f[0]),
              _mm256_addsub_ps(_mm256_mul_ps(x.half_f[1], y.half_f[1]), z.half_f[1]));
}
INGLE_INLINE __m512 _mm512_cvtph_ps(__m256i x) {
  return join(_mm256_cvtph_ps(_mm256_castsi256_si128(x)), _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1)));
}
INGLE_INLINE __m256i cvtps_ph(__m512 x) {
  const Halves h = halves(x);
  return _mm256_set_m128i(_mm256_cvtps_ph(h.half_f[1], 0), _mm256_cvtps_ph(h.half_f[0], 0));
}
#define _mm512_cvtps_ph(x, rounding) cvtps_ph(x)
INGLE_INLINE __m128i _mm512_cvtepi32_epi8(__m512i x) {
  const Halves h = halves(x);
  alignas(16) int8_t bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<int8_t>(h.whole[i]);
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
INGLE_INLINE __m512i _mm512_cvtps_epi32(__m512 x) {
  const Halves h = halves(x);
  return join(_mm256_cvtps_epi32(h.half_f[0]), _mm256_cvtps_epi32(h.half_f[1]));
}
INGLE_INLINE __m512 _mm512_cvtepi32_ps(__m512i x) {
  const Halves h = halves(x);
  return join(_mm256_cvtepi32_ps(h.half_i[0]), _mm256_cvtepi32_ps(h.half_i[1]));
}
INGLE_INLINE __m512i _mm512_srai_epi32(__m512i x, unsigned bits) {
  const Halves h = halves(x);
  return join(_mm256_srai_epi32(h.half_i[0], static_cast<int>(bits)),
              _mm256_srai_epi32(h.half_i[1], static_cast<int>(bits)));
}
INGLE_INLINE __m512i _mm512_cvtepu16_epi32(__m256i x) {
  return join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(x)), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(x, 1)));
}
INGLE_INLINE __m512i _mm512_cvtepu8_epi32(__m128i x) {
  return join(_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(x, x)));
}
INGLE_INLINE __m512i _mm512_cvtepi8_epi32(__m128i x) {
  return join(_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(x, x)));
}

// Each builds on those before it.
// clang-format off
#include "backend/cpu/isa/simde_fused.inl"
#include "backend/cpu/simd/x86_reduce.inl"
#include "backend/cpu/simd/x86_f32x16.inl"
#include "backend/cpu/simd/x86_bytes_512.inl"
#include "backend/cpu/simd/x86_dot_avx512_vnni.inl"
#include "backend/cpu/kernels/all.inl"
// clang-format on
}  // namespace
}  // namespace simde_avx512_vnni

const CpuKernels& simde_avx512_vnni_kernels() {
  static constexpr CpuKernels kKernels = simde_avx512_vnni::kernel_table("avx512_vnni(simde)");
  return kKernels;
}

}  // namespace ingle::cpu
