// Sixteen floats: AVX-512 F, BW, DQ, VL.
using F32 = __m512;
using I32 = __m512i;
constexpr int kLanes = 16;

INGLE_INLINE F32 zero() { return _mm512_setzero_ps(); }
INGLE_INLINE F32 set1(float x) { return _mm512_set1_ps(x); }
INGLE_INLINE F32 load(const float* p) { return _mm512_loadu_ps(p); }
INGLE_INLINE void store(float* p, F32 x) { _mm512_storeu_ps(p, x); }
INGLE_INLINE F32 add(F32 a, F32 b) { return _mm512_add_ps(a, b); }
INGLE_INLINE F32 sub(F32 a, F32 b) { return _mm512_sub_ps(a, b); }
INGLE_INLINE F32 mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
INGLE_INLINE F32 div(F32 a, F32 b) { return _mm512_div_ps(a, b); }
INGLE_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }  // a b + c
INGLE_INLINE F32 min(F32 a, F32 b) { return _mm512_min_ps(a, b); }
INGLE_INLINE F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
INGLE_INLINE F32 round(F32 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INGLE_INLINE F32 abs(F32 a) {
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7fffffff)));
}
// The larger of two numbers that are not negative, by their bits: NaN is the largest of all.
INGLE_INLINE F32 max_magnitude(F32 a, F32 b) {
  return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}
INGLE_INLINE float max_of_magnitudes(F32 a) {
  const __m512i bits = _mm512_castps_si512(a);
  return max8_of_magnitudes(_mm256_max_epi32(_mm512_castsi512_si256(bits), _mm512_extracti64x4_epi64(bits, 1)));
}
INGLE_INLINE float sum(F32 a) {
  const __m256 low = _mm512_castps512_ps256(a);
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
  return sum8(_mm256_add_ps(low, high));
}
INGLE_INLINE float max_of(F32 a) {
  const __m256 low = _mm512_castps512_ps256(a);
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
  return max8(_mm256_max_ps(low, high));
}
INGLE_INLINE F32 load_half(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
INGLE_INLINE void store_half(uint16_t* p, F32 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INGLE_INLINE F32 load_bfloat(const uint16_t* p) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
}
// Bytes as floats: whole, signed, their halves; and 2^(byte - 128), which is below the normal numbers for 0 and 1.
INGLE_INLINE I32 load_byte_lanes(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
INGLE_INLINE F32 load_unsigned(const uint8_t* p) { return _mm512_cvtepi32_ps(load_byte_lanes(p)); }
INGLE_INLINE F32 load_signed(const uint8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
INGLE_INLINE F32 load_low_nibbles(const uint8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_and_si512(load_byte_lanes(p), _mm512_set1_epi32(15)));
}
INGLE_INLINE F32 load_high_nibbles(const uint8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_srli_epi32(load_byte_lanes(p), 4));
}
INGLE_INLINE F32 load_powers(const uint8_t* p) {
  const I32 e = load_byte_lanes(p);
  const I32 small = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
  const I32 normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
  const __mmask16 is_small = _mm512_cmpgt_epi32_mask(_mm512_set1_epi32(2), e);
  return _mm512_castsi512_ps(_mm512_mask_blend_epi32(is_small, normal, small));
}
INGLE_INLINE I32 set1_int(int32_t x) { return _mm512_set1_epi32(x); }
INGLE_INLINE F32 to_float(I32 x) { return _mm512_cvtepi32_ps(x); }
INGLE_INLINE F32 as_float(I32 x) { return _mm512_castsi512_ps(x); }  // the same bits
INGLE_INLINE I32 to_int(F32 x) { return _mm512_cvtps_epi32(x); }     // rounds to nearest even
// x * 2^n for integral n in [-126, 127].
INGLE_INLINE F32 scale_by_power(F32 x, F32 n) {
  const I32 bits = _mm512_slli_epi32(_mm512_add_epi32(to_int(n), _mm512_set1_epi32(127)), 23);
  return mul(x, _mm512_castsi512_ps(bits));
}
// x where lane < count, otherwise y.
INGLE_INLINE F32 select_first(int count, F32 x, F32 y) {
  const unsigned bits = count >= 16 ? 0xffffu : count <= 0 ? 0u : (1u << count) - 1u;
  return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), y, x);
}
// 2^n of x = n + 1.5 * 2^23 + 127: the lowest bits of a sum of that size are its whole part.
INGLE_INLINE F32 power_of_shifted(F32 x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x), 23)); }
// a, then b, as 16-bit numbers; what is too large becomes the largest.
INGLE_INLINE void store_words(int16_t* p, I32 a, I32 b) {
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi64(order, _mm512_packs_epi32(a, b)));
}
// The lowest byte of each lane, kLanes bytes.
INGLE_INLINE void store_bytes(int8_t* p, I32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
}
// (x0, x1, x2, x3, ...) -> (x1, x0, x3, x2, ...)
INGLE_INLINE F32 swap_pairs(F32 x) { return _mm512_permute_ps(x, 0xb1); }
// a - b in even lanes, a + b in odd lanes.
INGLE_INLINE F32 sub_add(F32 a, F32 b) { return _mm512_fmaddsub_ps(a, set1(1.0f), b); }
// (x0, x1, ...) -> (x0, x0, x1, x1, ...): from kLanes / 2 floats.
INGLE_INLINE F32 load_doubled(const float* p) {
  const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return _mm512_permutexvar_ps(index, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
}
