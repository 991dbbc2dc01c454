// The list of points around every combination of levels, against a look at all points.
#include "quant/nearest_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

namespace ingle {
namespace {

// How far numbers of a normal distribution are from the points that are found, in units of how far they are from the
// closest ones.
template <int Levels, int Entries, int Width>
double excess(const Codebook<Entries, Width>& book, float scale, bool weighted) {
  const auto points = std::make_unique<NearestPoints<Entries, Width, Levels>>(book);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  double found = 0, closest = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    float x[Width], w[Width];
    for (int j = 0; j < Width; ++j) {
      x[j] = std::fabs(normal(random));
      w[j] = weighted ? std::exp(normal(random)) : 1;
    }
    const auto error = [&](int index) {
      double sum = 0;
      for (int j = 0; j < Width; ++j) {
        const double difference = scale * points->point(index)[j] - x[j];
        sum += w[j] * difference * difference;
      }
      return sum;
    };
    double least = error(0);
    for (int i = 1; i < Entries; ++i) least = std::min(least, error(i));
    found += error(points->find(x, w, scale));
    closest += least;
  }
  return found / closest;
}

TEST(NearestPoints, NoPointIsMuchCloser) {
  for (const bool weighted : {false, true}) {
    const double most = 1.02;
    EXPECT_LT((excess<3>(kCodebookIQ2_XXS, 0.055f, weighted)), most);
    EXPECT_LT((excess<3>(kCodebookIQ2_XS, 0.055f, weighted)), most);
    EXPECT_LT((excess<3>(kCodebookIQ2_S, 0.055f, weighted)), most);
    EXPECT_LT((excess<3>(kCodebookIQ1, 1.2f, weighted)), most);
    EXPECT_LT((excess<8>(kCodebookIQ3_XXS, 0.042f, weighted)), most);
    EXPECT_LT((excess<8>(kCodebookIQ3_S, 0.17f, weighted)), most);
  }
}

TEST(NearestPoints, APointIsFoundWhateverTheWeights) {
  const auto points = std::make_unique<NearestPoints<1024, 8, 3>>(kCodebookIQ2_S);
  const float w[8] = {0, 1e-6f, 1, 3, 1e6f, 2, 0.5f, 7};
  for (int index = 0; index < 1024; ++index) {
    float x[8];
    for (int j = 0; j < 8; ++j) x[j] = 0.25f * static_cast<float>(kCodebookIQ2_S.points[index][j]);
    EXPECT_EQ(points->find(x, w, 0.25f), index);
  }
}

}  // namespace
}  // namespace ingle
