// Eight floats: AVX2, FMA, F16C.
using F32 = __m256;
using I32 = __m256i;
constexpr int kLanes = 8;

INGLE_INLINE F32 zero() { return _mm256_setzero_ps(); }
INGLE_INLINE F32 set1(float x) { return _mm256_set1_ps(x); }
INGLE_INLINE F32 load(const float* p) { return _mm256_loadu_ps(p); }
INGLE_INLINE void store(float* p, F32 x) { _mm256_storeu_ps(p, x); }
INGLE_INLINE F32 add(F32 a, F32 b) { return _mm256_add_ps(a, b); }
INGLE_INLINE F32 sub(F32 a, F32 b) { return _mm256_sub_ps(a, b); }
INGLE_INLINE F32 mul(F32 a, F32 b) { return _mm256_mul_ps(a, b); }
INGLE_INLINE F32 div(F32 a, F32 b) { return _mm256_div_ps(a, b); }
INGLE_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
INGLE_INLINE F32 min(F32 a, F32 b) { return _mm256_min_ps(a, b); }
INGLE_INLINE F32 max(F32 a, F32 b) { return _mm256_max_ps(a, b); }
INGLE_INLINE F32 round(F32 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INGLE_INLINE F32 abs(F32 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
// The larger of two numbers that are not negative, by their bits: NaN is the largest of all.
INGLE_INLINE F32 max_magnitude(F32 a, F32 b) {
  return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
INGLE_INLINE float max_of_magnitudes(F32 a) { return max8_of_magnitudes(_mm256_castps_si256(a)); }
INGLE_INLINE float sum(F32 a) { return sum8(a); }
INGLE_INLINE float max_of(F32 a) { return max8(a); }
INGLE_INLINE F32 load_half(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
INGLE_INLINE void store_half(uint16_t* p, F32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
INGLE_INLINE F32 load_bfloat(const uint16_t* p) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
}
// Bytes as floats: whole, signed, their halves; and 2^(byte - 128), which is below the normal numbers for 0 and 1.
INGLE_INLINE I32 load_byte_lanes(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
INGLE_INLINE F32 load_unsigned(const uint8_t* p) { return _mm256_cvtepi32_ps(load_byte_lanes(p)); }
INGLE_INLINE F32 load_signed(const uint8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
INGLE_INLINE F32 load_low_nibbles(const uint8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_and_si256(load_byte_lanes(p), _mm256_set1_epi32(15)));
}
INGLE_INLINE F32 load_high_nibbles(const uint8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_srli_epi32(load_byte_lanes(p), 4));
}
INGLE_INLINE F32 load_powers(const uint8_t* p) {
  const I32 e = load_byte_lanes(p);
  const I32 small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
  const I32 normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
  return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e)));
}
INGLE_INLINE I32 set1_int(int32_t x) { return _mm256_set1_epi32(x); }
INGLE_INLINE F32 to_float(I32 x) { return _mm256_cvtepi32_ps(x); }
INGLE_INLINE F32 as_float(I32 x) { return _mm256_castsi256_ps(x); }
INGLE_INLINE I32 to_int(F32 x) { return _mm256_cvtps_epi32(x); }
INGLE_INLINE F32 scale_by_power(F32 x, F32 n) {
  const I32 bits = _mm256_slli_epi32(_mm256_add_epi32(to_int(n), _mm256_set1_epi32(127)), 23);
  return mul(x, _mm256_castsi256_ps(bits));
}
INGLE_INLINE F32 select_first(int count, F32 x, F32 y) {
  const I32 lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane)));
}
INGLE_INLINE F32 power_of_shifted(F32 x) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x), 23)); }
INGLE_INLINE void store_words(int16_t* p, I32 a, I32 b) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8));
}
INGLE_INLINE void store_bytes(int8_t* p, I32 x) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}
INGLE_INLINE F32 swap_pairs(F32 x) { return _mm256_permute_ps(x, 0xb1); }
INGLE_INLINE F32 sub_add(F32 a, F32 b) { return _mm256_addsub_ps(a, b); }
INGLE_INLINE F32 load_doubled(const float* p) {
  const __m256 twice = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(
      _mm256_castps_si256(_mm256_castps128_ps256(_mm_loadu_ps(p))), _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)));
  return twice;
}
