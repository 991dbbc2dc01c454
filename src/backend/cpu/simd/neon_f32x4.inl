// Four floats: Advanced SIMD of 64-bit ARM.
using F32 = float32x4_t;
using I32 = int32x4_t;
constexpr int kLanes = 4;

INGLE_INLINE F32 zero() { return vdupq_n_f32(0.0f); }
INGLE_INLINE F32 set1(float x) { return vdupq_n_f32(x); }
INGLE_INLINE F32 load(const float* p) { return vld1q_f32(p); }
INGLE_INLINE void store(float* p, F32 x) { vst1q_f32(p, x); }
INGLE_INLINE F32 add(F32 a, F32 b) { return vaddq_f32(a, b); }
INGLE_INLINE F32 sub(F32 a, F32 b) { return vsubq_f32(a, b); }
INGLE_INLINE F32 mul(F32 a, F32 b) { return vmulq_f32(a, b); }
INGLE_INLINE F32 div(F32 a, F32 b) { return vdivq_f32(a, b); }
INGLE_INLINE F32 fma(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
// Where one is NaN, the second operand, as on x86: exp keeps a NaN and a running maximum does not.
INGLE_INLINE F32 min(F32 a, F32 b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
INGLE_INLINE F32 max(F32 a, F32 b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
INGLE_INLINE F32 round(F32 a) { return vrndnq_f32(a); }
INGLE_INLINE F32 abs(F32 a) { return vabsq_f32(a); }
// The larger of two numbers that are not negative, by their bits: NaN is the largest of all.
INGLE_INLINE F32 max_magnitude(F32 a, F32 b) {
  return vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}
INGLE_INLINE float max_of_magnitudes(F32 a) {
  const uint32_t bits = vmaxvq_u32(vreinterpretq_u32_f32(a));
  float largest;
  __builtin_memcpy(&largest, &bits, 4);
  return largest;
}
INGLE_INLINE float sum(F32 a) { return vaddvq_f32(a); }
INGLE_INLINE float max_of(F32 a) { return vmaxnmvq_f32(a); }
INGLE_INLINE F32 load_half(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
INGLE_INLINE void store_half(uint16_t* p, F32 x) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
INGLE_INLINE F32 load_bfloat(const uint16_t* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
// Bytes as floats: whole, signed, their halves; and 2^(byte - 128), which is below the normal numbers for 0 and 1.
INGLE_INLINE uint32x4_t load_byte_lanes(const uint8_t* p) {
  uint32_t four;
  __builtin_memcpy(&four, p, 4);
  return vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)))));
}
INGLE_INLINE F32 load_unsigned(const uint8_t* p) { return vcvtq_f32_u32(load_byte_lanes(p)); }
INGLE_INLINE F32 load_signed(const uint8_t* p) {
  const int32x4_t shifted = vshlq_n_s32(vreinterpretq_s32_u32(load_byte_lanes(p)), 24);
  return vcvtq_f32_s32(vshrq_n_s32(shifted, 24));
}
INGLE_INLINE F32 load_low_nibbles(const uint8_t* p) {
  return vcvtq_f32_u32(vandq_u32(load_byte_lanes(p), vdupq_n_u32(15)));
}
INGLE_INLINE F32 load_high_nibbles(const uint8_t* p) { return vcvtq_f32_u32(vshrq_n_u32(load_byte_lanes(p), 4)); }
INGLE_INLINE F32 load_powers(const uint8_t* p) {
  const uint32x4_t e = load_byte_lanes(p);
  const uint32x4_t small = vshlq_u32(vdupq_n_u32(0x00200000u), vreinterpretq_s32_u32(e));
  const uint32x4_t normal = vshlq_n_u32(vsubq_u32(e, vdupq_n_u32(1)), 23);
  return vreinterpretq_f32_u32(vbslq_u32(vcltq_u32(e, vdupq_n_u32(2)), small, normal));
}
INGLE_INLINE I32 set1_int(int32_t x) { return vdupq_n_s32(x); }
INGLE_INLINE F32 to_float(I32 x) { return vcvtq_f32_s32(x); }
INGLE_INLINE F32 as_float(I32 x) { return vreinterpretq_f32_s32(x); }
INGLE_INLINE I32 to_int(F32 x) { return vcvtnq_s32_f32(x); }  // rounds to nearest even
INGLE_INLINE F32 scale_by_power(F32 x, F32 n) {
  return mul(x, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(to_int(n), vdupq_n_s32(127)), 23)));
}
INGLE_INLINE F32 select_first(int count, F32 x, F32 y) {
  const int32_t lane[4] = {0, 1, 2, 3};
  return vbslq_f32(vcltq_s32(vld1q_s32(lane), vdupq_n_s32(count)), x, y);
}
INGLE_INLINE int32_t sum_of_16(const int8_t* p) { return vaddlvq_s8(vld1q_s8(p)); }
INGLE_INLINE F32 power_of_shifted(F32 x) { return vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(x), 23)); }
INGLE_INLINE void store_words(int16_t* p, I32 a, I32 b) { vst1q_s16(p, vcombine_s16(vqmovn_s32(a), vqmovn_s32(b))); }
INGLE_INLINE void store_bytes(int8_t* p, I32 x) {
  const int16x4_t words = vmovn_s32(x);
  const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
  const int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
  __builtin_memcpy(p, &four, 4);
}
INGLE_INLINE F32 swap_pairs(F32 x) { return vrev64q_f32(x); }
INGLE_INLINE F32 sub_add(F32 a, F32 b) {
  const uint32_t signs[4] = {0x80000000u, 0, 0x80000000u, 0};
  return add(a, vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(b), vld1q_u32(signs))));
}
INGLE_INLINE F32 load_doubled(const float* p) {
  const float32x2_t x = vld1_f32(p);
  return vcombine_f32(vdup_lane_f32(x, 0), vdup_lane_f32(x, 1));
}
