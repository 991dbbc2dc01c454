// Several residual streams per row, and operations over the statistics of a row.
#include <fmt/format.h>

#include <cstring>

#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using StreamsTest = OnMachine;

struct StreamShape {
  int64_t rows, streams, d;
};

// 60 rows of 4 x 257 are work for several threads.
const std::vector<StreamShape> kShapes = {{1, 1, 1}, {3, 2, 20}, {1, 4, 40}, {5, 4, 33}, {60, 4, 257}, {2, 5, 64}};

Tensor as_streams(Rows& x, const StreamShape& s) {
  return {.data = x.values.data(), .shape = {s.rows, s.streams, s.d}};
}

TEST_P(StreamsTest, AStreamIsTakenOutAndStreamsAreStacked) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (const StreamShape& s : kShapes) {
    Rows x(s.rows, s.streams * s.d, 1);
    const Rows before = x;
    ops->begin_step();
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < s.streams; ++i) {
      parts.push_back(ops->stream(as_streams(x, s), i));
      ASSERT_EQ(parts.back().shape, (Shape{s.rows, s.d}));
      for (int64_t r = 0; r < s.rows; ++r)
        ASSERT_EQ(std::memcmp(parts.back().row(r), x.row(r) + i * s.d, static_cast<size_t>(s.d) * sizeof(float)), 0);
    }
    const Tensor stacked = ops->stack(parts);
    ASSERT_EQ(stacked.shape, (Shape{s.rows, s.streams, s.d}));
    EXPECT_EQ(std::memcmp(stacked.data, x.values.data(), x.values.size() * sizeof(float)), 0);
    ops->apply(kScale, parts[0], {.a = 2.0f});  // a copy
    EXPECT_EQ(x.values, before.values);
    EXPECT_EQ(std::memcmp(stacked.data, x.values.data(), x.values.size() * sizeof(float)), 0);
  }
}

TEST_P(StreamsTest, MixAddsAWeightedSumOfAllStreamsToEach) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (const StreamShape& s : kShapes) {
    Rows x(s.rows, s.streams * s.d, 1), weights(s.rows, s.streams * s.streams, 2);
    const Rows before = x;
    ops->begin_step();
    const Tensor y = ops->mix(as_streams(x, s), weights.tensor(s.rows));
    ASSERT_EQ(y.shape, (Shape{s.rows, s.streams, s.d}));
    ASSERT_EQ(x.values, before.values);
    for (int64_t r = 0; r < s.rows; ++r) {
      for (int64_t i = 0; i < s.streams; ++i) {
        for (int64_t c = 0; c < s.d; ++c) {
          double want = x.row(r)[i * s.d + c], size = std::fabs(want);
          for (int64_t j = 0; j < s.streams; ++j) {
            const double term = static_cast<double>(weights.row(r)[i * s.streams + j]) * x.row(r)[j * s.d + c];
            want += term;
            size += std::fabs(term);
          }
          ASSERT_NEAR(y.row(r)[i * s.d + c], want, 1e-6 * size)
              << s.streams << " streams, row " << r << ", stream " << i;
        }
      }
    }
  }
}

TEST_P(StreamsTest, RowsAreAddedToEveryStreamByItsWeight) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (const StreamShape& s : kShapes) {
    for (bool same_for_all : {false, true}) {
      Rows x(s.rows, s.streams * s.d, 1), y(s.rows, s.d, 2), weights(same_for_all ? 1 : s.rows, s.streams, 3);
      weights.values[0] = 0.0f;  // leaves the stream of the first row as it is
      const Rows before = x;
      ops->begin_step();
      if (same_for_all) {
        ops->add_to_streams(as_streams(x, s), y.tensor(s.rows), weights.values);
      } else {
        ops->add_to_streams(as_streams(x, s), y.tensor(s.rows), weights.tensor(s.rows));
      }
      for (int64_t r = 0; r < s.rows; ++r) {
        for (int64_t i = 0; i < s.streams; ++i) {
          for (int64_t c = 0; c < s.d; ++c) {
            const double old = before.row(r)[i * s.d + c],
                         more = static_cast<double>(weights.row(same_for_all ? 0 : r)[i]) * y.row(r)[c];
            ASSERT_NEAR(x.row(r)[i * s.d + c], old + more, 2e-7 * (std::fabs(old) + std::fabs(more)))
                << s.streams << " streams, row " << r << ", stream " << i;
          }
        }
      }
      EXPECT_EQ(std::memcmp(x.row(0), before.row(0), static_cast<size_t>(s.d) * sizeof(float)), 0);
    }
  }
}

double mean_square(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum / static_cast<double>(n);
}

TEST_P(StreamsTest, ARowIsBroughtToTheMagnitudeOfAnother) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const float floor = 1e-5f;
  for (int64_t size : {1, 7, 40, 257, 1000}) {
    for (int64_t rows : {1, 3, 50}) {
      // 1e-3 squared is below the floor, 5e-3 squared above it.
      for (float deviation : {1e-6f, 1e-3f, 5e-3f, 1.0f, 1e4f}) {
        Rows x(rows, size, 1, deviation), like(rows, size, 2, 3.0f);
        const Rows before = x, other = like;
        ops->begin_step();
        ops->apply(kMatchMagnitude, x.tensor(rows), {.y = like.tensor(rows), .a = floor});
        ASSERT_EQ(like.values, other.values);
        for (int64_t r = 0; r < rows; ++r) {
          const double mine = mean_square(before.row(r), size);
          const double factor = std::sqrt(mean_square(like.row(r), size) / std::max<double>(mine, floor));
          for (int64_t i = 0; i < size; ++i) {
            const double want = before.row(r)[i] * factor;
            ASSERT_NEAR(x.row(r)[i], want, 3e-7 * std::fabs(want)) << size << " of size " << deviation << ", row " << r;
          }
          if (mine > floor) {
            ASSERT_NEAR(mean_square(x.row(r), size) / mean_square(like.row(r), size), 1.0, 1e-6);
          } else {  // stays smaller
            ASSERT_LT(mean_square(x.row(r), size), mean_square(like.row(r), size));
          }
        }
      }
    }
  }
}

TEST_P(StreamsTest, MagnitudesOfZeroAreNoDivisionByZero) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  std::vector<float> zeros(33, 0.0f), ones(33, 1.0f);
  const Tensor zero{.data = zeros.data(), .shape = {1, 33}}, one{.data = ones.data(), .shape = {1, 33}};
  ops->begin_step();
  ops->apply(kMatchMagnitude, zero, {.y = one, .a = 1e-5f});
  EXPECT_EQ(zeros, std::vector<float>(33, 0.0f));
  ops->apply(kMatchMagnitude, one, {.y = zero, .a = 1e-5f});
  EXPECT_EQ(ones, std::vector<float>(33, 0.0f));
}

// Where a number is close to the cut, the difference has the rounding of both.
TEST_P(StreamsTest, OnlyTheLargestOfARowStay) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : {1, 2, 33, 104, 1000}) {
    for (int64_t rows : {1, 3, 50}) {
      for (float z : {-1.0f, 0.0f, 0.674f, 1.645f}) {
        for (float shift : {0.0f, 5.0f}) {
          Rows x(rows, size, 1);
          for (float& value : x.values) value += shift;
          const Rows before = x;
          ops->begin_step();
          ops->apply(kKeepLargest, x.tensor(rows), {.a = z});
          for (int64_t r = 0; r < rows; ++r) {
            double mean = 0, squares = 0;
            for (int64_t i = 0; i < size; ++i) mean += before.row(r)[i] / static_cast<double>(size);
            for (int64_t i = 0; i < size; ++i) squares += std::pow(before.row(r)[i] - mean, 2);
            const double cut = mean + z * std::sqrt(squares / static_cast<double>(size));
            int64_t stay = 0;
            for (int64_t i = 0; i < size; ++i) {
              const double in = before.row(r)[i];
              stay += x.row(r)[i] > 0;
              ASSERT_NEAR(x.row(r)[i], std::max(in - cut, 0.0), 2e-7 * (std::fabs(in) + std::fabs(cut)))
                  << size << " numbers, z " << z << ", row " << r;
            }
            // Of normal numbers 5 % are 1.645 deviations above the mean.
            if (size == 1000 && z == 1.645f) {
              ASSERT_GT(stay, 20);
              ASSERT_LT(stay, 80);
            }
          }
        }
      }
    }
  }
}

TEST_P(StreamsTest, OfARowOfEqualNumbersNothingStays) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  std::vector<float> row(64, 0.1f);
  ops->begin_step();
  ops->apply(kKeepLargest, {.data = row.data(), .shape = {1, 64}}, {.a = 1.645f});
  EXPECT_EQ(row, std::vector<float>(64, 0.0f));
}

INSTANTIATE_TEST_SUITE_P(Isa, StreamsTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
