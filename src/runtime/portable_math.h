// exp and log built from IEEE additions and multiplications only. The C library's differ in the last bit from one
// machine to the next, and one bit is enough for a seed to give another text there; these do not (compile with
// -ffp-contract=off where the target has fused multiply-add). Both stay within 2 ulp of the true value
// (tests/runtime/sampler_test.cpp).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ingle {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

inline constexpr double kExpLowest = -708.0;  // below, exp leaves the normal range

// x in [kExpLowest, 0]. No branches, so that a loop over it is vectorised.
inline double portable_exp_in_range(double x) noexcept {
  constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer, which then sits in the low mantissa bits
  constexpr double kLn2High = 0x1.62e42feep-1;  // 32 bits, so n * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double shifted = x * (1.0 / kLn2) + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;  // |r| <= ln(2) / 2
  // Taylor: the first term left out is r^14 / 14! < 5e-18.
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);  // 2^n
  return sum * power;
}

// x <= 0, also -infinity; 0 below kExpLowest.
inline double portable_exp(double x) noexcept { return x < kExpLowest ? 0.0 : portable_exp_in_range(x); }

// Natural logarithm of a positive, finite, normal x: x = m * 2^e, log m = 2 atanh((m - 1) / (m + 1)).
inline double portable_log(double x) noexcept {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact; m in [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);  // |s| < 0.172
  const double s2 = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * s2;
  return exponent * kLn2 + (2 * s + 2 * s * sum);
}

}  // namespace ingle
