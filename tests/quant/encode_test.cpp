// What every encoder promises: how close a row comes back, and what it makes of rows nobody would want to store.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "quant/format.h"

namespace ingle {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> round_trip(const Format& f, const std::vector<float>& x, const float* importance = nullptr) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<std::byte> row(f.row_bytes(n));
  f.encode(x.data(), row.data(), n, importance);
  std::vector<float> y(x.size());
  f.decode(row.data(), y.data(), n);
  return y;
}

std::vector<float> waves(size_t n, float offset) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = 0.1f + 2 * std::cos(static_cast<float>(i) + offset);
  return x;
}

double root_error(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum) / static_cast<double>(x.size());
}

float largest(const std::vector<float>& x) {
  float most = 0;
  for (float e : x) most = std::max(most, std::fabs(e));
  return most;
}

bool all_finite(const std::vector<float>& x) {
  return std::all_of(x.begin(), x.end(), [](float e) { return std::isfinite(e); });
}

// What formats of few bits do not do as well as all others.
struct Limits {
  std::string_view name;
  // Of a wave: the limits of the reference's own test, on its own data, where it has one. The root is taken before
  // dividing by n.
  double wave = 0.002;
  // Also the reference's, but for codebooks: what is closest to its numbers is smaller than they are, by the share of
  // the error's square, and so is a product.
  double product = 0.02;
  // Of the largest of a row. A 4-bit float ends at 6 scales and its largest number may be just below 8; codebooks have
  // no zero, so that one large number among zeros lifts them.
  float constant = 0.05f, single = 0.05f;
  bool keeps_signs = true;  // a small number is not rounded to 0
};

Limits limits_of(std::string_view name) {
  constexpr Limits kLimits[] = {
      {.name = "Q2_K", .wave = 0.0075, .product = 0.04},
      {.name = "Q3_K", .wave = 0.0040, .product = 0.04},
      {.name = "IQ2_XXS", .wave = 0.0085, .product = 0.15, .single = 0.6f},
      {.name = "IQ2_XS", .wave = 0.0075, .product = 0.12, .single = 0.6f},
      {.name = "IQ2_S", .wave = 0.0075, .product = 0.06, .single = 0.6f},
      {.name = "IQ3_XXS", .wave = 0.0050, .product = 0.06, .single = 0.35f},
      {.name = "IQ3_S", .wave = 0.0040, .product = 0.04, .single = 0.35f},
      {.name = "IQ1_S", .wave = 0.012, .product = 0.2, .single = 0.6f},
      {.name = "IQ1_M", .wave = 0.011, .product = 0.2, .single = 0.6f},
      {.name = "TQ1_0", .wave = 0.01, .product = 0.15, .keeps_signs = false},
      {.name = "TQ2_0", .wave = 0.01, .product = 0.15, .keeps_signs = false},
      {.name = "Q2_0", .wave = 0.01, .product = 0.15, .keeps_signs = false},
      {.name = "Q1_0", .wave = 0.025, .product = 0.40, .single = 1.0f},
      {.name = "MXFP4", .product = 0.03, .constant = 0.25f, .single = 0.25f},
  };
  const auto* found = std::ranges::find(kLimits, name, &Limits::name);
  return found == std::end(kLimits) ? Limits{.name = name} : *found;
}

class EveryEncoder : public testing::TestWithParam<DType> {
 protected:
  const Format& f = format_of(GetParam());
  const Limits limits_ = limits_of(f.name);
  // One row of importance that favours some columns; every test runs with and without.
  std::vector<float> importance_ = [] {
    std::vector<float> w(4096);
    for (size_t i = 0; i < w.size(); ++i) w[i] = 0.5f + static_cast<float>(i * 37 % 64) / 32;
    return w;
  }();
  std::vector<const float*> importances_ = {nullptr, importance_.data()};
};

std::vector<DType> encoders() {
  std::vector<DType> types;
  for (const Format& f : formats())
    if (f.encode != nullptr) types.push_back(f.type);
  return types;
}

INSTANTIATE_TEST_SUITE_P(Quant, EveryEncoder, testing::ValuesIn(encoders()),
                         [](const auto& i) { return std::string(format_of(i.param).name); });

TEST(Encoders, AreThoseOfTheTypesFilesAreWrittenIn) {
  std::string names;
  for (DType type : encoders()) names += std::string(format_of(type).name) + " ";
  EXPECT_EQ(names,
            "F32 F16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S "
            "IQ2_S IQ4_XS IQ1_M BF16 TQ1_0 TQ2_0 MXFP4 Q1_0 Q2_0 ");
}

TEST_P(EveryEncoder, AWaveComesBackWithinTheLimit) {
  for (float offset : {0.0f, 1.0f, 2.5f}) {
    const std::vector<float> x = waves(4096, offset);
    for (const float* w : importances_) EXPECT_LT(root_error(x, round_trip(f, x, w)), limits_.wave);
  }
}

TEST_P(EveryEncoder, AProductWithAWaveIsCloseToTheExactOne) {
  const std::vector<float> x = waves(4096, 0), other = waves(4096, 1);
  const std::vector<float> partner =
      round_trip(format_of(f.block_elements == 256 ? DType::kQ8_K : DType::kQ8_0), other);
  for (const float* w : importances_) {
    const std::vector<float> y = round_trip(f, x, w);
    double exact = 0, quantised = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      exact += static_cast<double>(x[i]) * other[i];
      quantised += static_cast<double>(y[i]) * partner[i];
    }
    EXPECT_LT(std::fabs(quantised - exact) / 4096, limits_.product);
  }
}

TEST_P(EveryEncoder, ZerosComeBackAsZeros) {
  const std::vector<float> x(256);
  for (const float* w : importances_) EXPECT_EQ(round_trip(f, x, w), x);
}

TEST_P(EveryEncoder, ASingleNumberComesBackAmongZeros) {
  for (size_t at : {size_t{0}, size_t{17}, size_t{100}, size_t{255}}) {
    for (float value : {1.0f, -3.5f}) {
      std::vector<float> x(256);
      x[at] = value;
      for (const float* w : importances_) {
        const std::vector<float> y = round_trip(f, x, w);
        for (size_t i = 0; i < 256; ++i)
          EXPECT_NEAR(y[i], i == at ? value : 0, limits_.single * std::fabs(value)) << i << ", number at " << at;
      }
    }
  }
}

TEST_P(EveryEncoder, AConstantRowComesBack) {
  for (float value : {1.0f, -1.0f, 0.3f, 1000.0f}) {
    const std::vector<float> x(256, value);
    for (const float* w : importances_)
      for (float y : round_trip(f, x, w)) EXPECT_NEAR(y, value, limits_.constant * std::fabs(value)) << value;
  }
}

TEST_P(EveryEncoder, NegativeNumbersDoNotComeBackPositive) {
  std::vector<float> x = waves(256, 0);
  for (float& e : x) e = e - 4;
  for (const float* w : importances_)
    for (float y : round_trip(f, x, w)) EXPECT_TRUE(y < 0 || (y == 0 && !limits_.keeps_signs)) << y;
}

// Down here the f16 scale has few bits or none, so only the order of magnitude is left.
TEST_P(EveryEncoder, TinyNumbersStayTiny) {
  for (float scale : {1e-5f, 1e-7f, 1e-12f, 1e-38f, 1e-44f}) {
    std::vector<float> x = waves(256, 0);
    for (float& e : x) e *= scale;
    for (const float* w : importances_) {
      const float most = largest(round_trip(f, x, w));
      EXPECT_TRUE(std::isfinite(most));
      EXPECT_LE(most, 2.2f * scale + 2e-5f) << scale;
    }
  }
}

// A scale that f16 cannot hold turns infinite, which a checker sees; it never turns into a wrong finite number.
TEST_P(EveryEncoder, HugeNumbersComeBackOrAreSeenToOverflow) {
  for (float scale : {1e4f, 1e9f, 1e30f, 1.5e38f}) {
    std::vector<float> x = waves(256, 0);
    for (float& e : x) e *= scale;
    for (const float* w : importances_) {
      const std::vector<float> y = round_trip(f, x, w);
      if (all_finite(y)) {
        EXPECT_NEAR(largest(y), largest(x), 0.4f * largest(x)) << scale;
      }
    }
  }
}

// The caller refuses such rows; if it does not, the row comes back visibly broken and nothing undefined happens.
TEST_P(EveryEncoder, NanAndInfinityAreSeenInWhatComesBack) {
  for (float poison : {kNan, -kNan, kInfinity, -kInfinity}) {
    for (size_t stride : {1, 3, 200}) {
      for (size_t start : {0, 5}) {
        std::vector<float> x = waves(256, 0);
        for (size_t i = start; i < x.size(); i += stride) x[i] = poison;
        for (const float* w : importances_) EXPECT_FALSE(all_finite(round_trip(f, x, w))) << poison << " at " << start;
      }
    }
  }
}

TEST_P(EveryEncoder, SenselessImportanceIsSurvived) {
  const std::vector<float> x = waves(256, 0);
  for (float poison : {kNan, kInfinity, -kInfinity, -1.0f, 1e38f, 1e-45f}) {
    std::vector<float> w(importance_.begin(), importance_.begin() + 256);
    for (size_t i = 0; i < 256; i += 5) w[i] = poison;
    EXPECT_EQ(round_trip(f, x, w.data()).size(), 256u);
  }
}

// Columns that were never active while importance was measured weigh nothing; they may still matter one day.
TEST_P(EveryEncoder, ARowWithoutAnyImportanceIsStillStored) {
  const std::vector<float> x = waves(4096, 0), w(4096);
  EXPECT_LT(root_error(x, round_trip(f, x, w.data())), 2 * limits_.wave);
}

TEST_P(EveryEncoder, ImportantColumnsComeBackCloserWhereImportancePlaysAPart) {
  const bool no_part = f.name.find('F') != std::string_view::npos || f.name.starts_with("Q8") ||  // F32 .. MXFP4
                       f.name == "Q1_0" || f.name == "Q2_0" || f.name.starts_with("TQ");
  std::vector<float> w(4096, 0.01f), x = waves(4096, 0);
  for (size_t i = 0; i < w.size(); i += 4) w[i] = 10;
  for (size_t i = 0; i < x.size(); ++i) x[i] += 0.3f * std::sin(static_cast<float>(i * i));
  const auto important_error = [&](const std::vector<float>& y) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); i += 4) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
  };
  const double with = important_error(round_trip(f, x, w.data())), without = important_error(round_trip(f, x));
  if (no_part) {
    EXPECT_EQ(with, without);
  } else {
    EXPECT_LT(with, without);
  }
}

// Models that are trained with weights of three values.
TEST(Ternary, WhatIsTernaryComesBackAsItWas) {
  std::vector<float> x(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (i < 256 ? 0.75f : 3.5f) * static_cast<float>(static_cast<int>(i * i % 7 % 3) - 1);
  for (const DType type : {DType::kTQ1_0, DType::kTQ2_0, DType::kQ2_0}) {
    EXPECT_EQ(round_trip(format_of(type), x), x) << format_of(type).name;
  }
}

TEST(Q8_K, SumsOfSixteenAreKept) {
  const std::vector<float> x = waves(256, 0);
  const Format& f = format_of(DType::kQ8_K);
  std::vector<std::byte> row(f.block_bytes);
  f.encode(x.data(), row.data(), 256, nullptr);
  for (size_t g = 0; g < 16; ++g) {
    int sum = 0;
    for (size_t i = 0; i < 16; ++i) sum += static_cast<int8_t>(row[4 + 16 * g + i]);
    int16_t kept;
    std::memcpy(&kept, row.data() + 260 + 2 * g, 2);
    EXPECT_EQ(kept, sum) << g;
  }
}

TEST(Q8_0, TheLargestMagnitudeIsCode127) {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i - 20);
  const Format& f = format_of(DType::kQ8_0);
  std::vector<std::byte> row(f.block_bytes);
  f.encode(x.data(), row.data(), 32, nullptr);
  EXPECT_EQ(static_cast<int8_t>(row[2]), -127);
  EXPECT_EQ(static_cast<int8_t>(row[2 + 20]), 0);
}

}  // namespace
}  // namespace ingle
