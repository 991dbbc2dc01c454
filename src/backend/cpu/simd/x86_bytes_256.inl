// Thirty-two bytes: four k of each of eight rows.
using Bytes = __m256i;
INGLE_INLINE Bytes load_bytes(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
INGLE_INLINE void store_vector(uint8_t* p, Bytes x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
INGLE_INLINE Bytes broadcast4(const uint8_t* p) {
  int32_t x;
  __builtin_memcpy(&x, p, 4);
  return _mm256_set1_epi32(x);
}
INGLE_INLINE Bytes low_nibbles(Bytes x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
INGLE_INLINE Bytes high_nibbles(Bytes x) { return _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15)); }
// Each byte shifted left (right where negative); `mask` leaves only bits that come from the byte itself.
INGLE_INLINE Bytes shifted_bits(Bytes x, int left, int mask) {
  const Bytes shifted = left >= 0 ? _mm256_slli_epi16(x, left) : _mm256_srli_epi16(x, -left);
  return _mm256_and_si256(shifted, _mm256_set1_epi8(static_cast<char>(mask)));
}
INGLE_INLINE Bytes join(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
INGLE_INLINE Bytes lookup16(const int8_t* table, Bytes index) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))),
                             index);
}
INGLE_INLINE Bytes add_to_bytes(Bytes x, int n) { return _mm256_add_epi8(x, _mm256_set1_epi8(static_cast<char>(n))); }
INGLE_INLINE Bytes flip_sign_bit(Bytes x) { return _mm256_xor_si256(x, _mm256_set1_epi8(static_cast<char>(0x80))); }
