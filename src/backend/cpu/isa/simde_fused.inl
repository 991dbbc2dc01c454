// SIMDe rounds a fused multiply-add twice where the machine it is built for has none; kernels rely on one rounding. In
// doubles a product of floats is exact.
template <class Vector>
INGLE_INLINE Vector fused_multiply_add(Vector a, Vector b, Vector c) {
  constexpr int kNumbers = sizeof(Vector) / sizeof(float);
  float x[kNumbers], y[kNumbers], z[kNumbers];
  __builtin_memcpy(x, &a, sizeof x);
  __builtin_memcpy(y, &b, sizeof y);
  __builtin_memcpy(z, &c, sizeof z);
  for (int i = 0; i < kNumbers; ++i) z[i] = static_cast<float>(static_cast<double>(x[i]) * y[i] + z[i]);
  __builtin_memcpy(&c, z, sizeof z);
  return c;
}
#undef _mm256_fmadd_ps
#undef _mm512_fmadd_ps
#define _mm256_fmadd_ps(a, b, c) fused_multiply_add(a, b, c)
#define _mm512_fmadd_ps(a, b, c) fused_multiply_add(a, b, c)
