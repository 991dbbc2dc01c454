// Sixty-four bytes: four k of each of sixteen rows.
using Bytes = __m512i;
INGLE_INLINE Bytes load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
INGLE_INLINE void store_vector(uint8_t* p, Bytes x) { _mm512_storeu_si512(p, x); }
INGLE_INLINE Bytes broadcast4(const uint8_t* p) {
  int32_t x;
  __builtin_memcpy(&x, p, 4);
  return _mm512_set1_epi32(x);
}
INGLE_INLINE Bytes low_nibbles(Bytes x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
INGLE_INLINE Bytes high_nibbles(Bytes x) { return _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15)); }
// Each byte shifted left (right where negative); `mask` leaves only bits that come from the byte itself.
INGLE_INLINE Bytes shifted_bits(Bytes x, int left, int mask) {
  const Bytes shifted = left >= 0 ? _mm512_slli_epi16(x, static_cast<unsigned>(left))
                                  : _mm512_srli_epi16(x, static_cast<unsigned>(-left));
  return _mm512_and_si512(shifted, _mm512_set1_epi8(static_cast<char>(mask)));
}
INGLE_INLINE Bytes join(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
INGLE_INLINE Bytes lookup16(const int8_t* table, Bytes index) {
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), index);
}
INGLE_INLINE Bytes add_to_bytes(Bytes x, int n) { return _mm512_add_epi8(x, _mm512_set1_epi8(static_cast<char>(n))); }
INGLE_INLINE Bytes flip_sign_bit(Bytes x) { return _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(0x80))); }
