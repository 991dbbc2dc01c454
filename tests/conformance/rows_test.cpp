// Operations that take rows one by one: embed, norm, rope, gather_rows, scale.
#include <fmt/format.h>

#include <cstring>

#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using RowsTest = OnMachine;

TEST_P(RowsTest, EmbedDecodesTheRowsOfEveryFormat) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (const Format& format : formats()) {
    if (format.type == DType::kI64 || format.type == DType::kF64 || format.type == DType::kI32 ||
        format.type == DType::kI16)
      continue;
    const Weights w(format.type, 11, 768, 1);
    const auto table = backend->table("token_embd", w.view());
    for (const std::vector<int32_t>& tokens :
         {std::vector<int32_t>{3}, {10, 0, 3, 3, 9}, std::vector<int32_t>(40, 7)}) {
      ops->begin_step();
      const Tensor x = ops->embed(*table, tokens);
      ASSERT_EQ(x.rows(), static_cast<int64_t>(tokens.size()));
      for (size_t t = 0; t < tokens.size(); ++t) {
        ASSERT_EQ(std::memcmp(x.row(static_cast<int64_t>(t)), w.row(tokens[t]), 768 * sizeof(float)), 0)
            << format.name << " token " << t;
      }
    }
  }
}

TEST_P(RowsTest, NormDividesByTheRootOfTheMeanSquare) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : {1, 3, 16, 20, 64, 96, 257, 4096}) {
    for (int64_t rows : {1, 2, 50}) {
      for (float deviation : {1e-12f, 1.0f, 1e6f}) {
        Rows x(rows, size, 1, deviation);
        const std::vector<float> gain = random_floats(size, 2);
        for (const float* g : {gain.data(), static_cast<const float*>(nullptr)}) {
          ops->begin_step();
          const Tensor y = ops->norm({.gain = g, .size = size, .eps = 1e-6f}, x.tensor(rows));
          for (int64_t r = 0; r < rows; ++r) {
            double squares = 0;
            for (int64_t i = 0; i < size; ++i) squares += static_cast<double>(x.row(r)[i]) * x.row(r)[i];
            const double factor = 1.0 / std::sqrt(squares / static_cast<double>(size) + 1e-6f);
            for (int64_t i = 0; i < size; ++i) {
              const double want = x.row(r)[i] * factor * (g == nullptr ? 1.0f : g[i]);
              ASSERT_LE(std::fabs(y.row(r)[i] - want), 1e-6 * std::fabs(want))
                  << size << " numbers, row " << r << ", " << i;
            }
          }
        }
      }
    }
  }
}

// Also of numbers whose mean is far larger than their distance from it.
TEST_P(RowsTest, CentredNormDividesTheDistancesFromTheMean) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : {1, 3, 16, 20, 64, 96, 257, 4096}) {
    for (float offset : {0.0f, 300.0f}) {
      Rows x(7, size, 1), into(7, size, 4);
      for (float& number : x.values) number += offset;
      const std::vector<float> gain = random_floats(size, 2), bias = random_floats(size, 3);
      for (const bool plain : {false, true}) {
        const Rows before = into;
        ops->begin_step();
        const Norm norm{.gain = plain ? nullptr : gain.data(),
                        .size = size,
                        .eps = 1e-6f,
                        .centred = true,
                        .bias = plain ? nullptr : bias.data()};
        const Tensor y = ops->norm(norm, x.tensor(7));
        const Tensor sum = ops->norm(norm, x.tensor(7), {.add_to = into.tensor(7)});
        for (int64_t r = 0; r < 7; ++r) {
          double mean = 0, squares = 0;
          for (int64_t i = 0; i < size; ++i) mean += x.row(r)[i] / static_cast<double>(size);
          for (int64_t i = 0; i < size; ++i) squares += (x.row(r)[i] - mean) * (x.row(r)[i] - mean);
          const double factor = 1.0 / std::sqrt(squares / static_cast<double>(size) + 1e-6f);
          for (int64_t i = 0; i < size; ++i) {
            const double distance = (x.row(r)[i] - mean) * factor;
            const double want =
                plain ? distance : distance * gain[static_cast<size_t>(i)] + bias[static_cast<size_t>(i)];
            const double error = 2e-6 * (1 + std::fabs(want));
            ASSERT_NEAR(y.row(r)[i], want, error) << size << " numbers, row " << r << ", " << i;
            ASSERT_NEAR(sum.row(r)[i], before.row(r)[i] + want, error) << size << " numbers, row " << r << ", " << i;
          }
        }
      }
    }
  }
}

TEST_P(RowsTest, NormOfHeadsGoesOverEachHead) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  Rows x(5, 3 * 24, 1);
  const std::vector<float> gain = random_floats(24, 2);
  ops->begin_step();
  const Tensor heads = ops->norm({.gain = gain.data(), .size = 24, .eps = 1e-5f}, Ops::split_heads(x.tensor(5), 3));
  ASSERT_EQ(heads.shape, (Shape{5, 3, 24}));
  const Tensor rows =
      ops->norm({.gain = gain.data(), .size = 24, .eps = 1e-5f}, {.data = x.values.data(), .shape = {15, 24}});
  EXPECT_EQ(std::memcmp(heads.data, rows.data, sizeof(float) * 15 * 24), 0);
}

TEST_P(RowsTest, ARowOfZerosStaysZeroThroughNorm) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  std::vector<float> zeros(33, 0.0f);
  const Tensor y = ops->norm({.gain = nullptr, .size = 33, .eps = 1e-5f}, {.data = zeros.data(), .shape = {1, 33}});
  for (int i = 0; i < 33; ++i) EXPECT_EQ(y.data[i], 0.0f);
}

void compare_rope(const Machine& machine, Rope::Pairs pairs, int64_t head_dim, int64_t rotated, float magnitude) {
  const auto backend = machine.backend();
  const auto ops = backend->make_ops();
  Rope rope{.pairs = pairs, .rotated = rotated, .inverse_frequency = {}, .magnitude = magnitude};
  for (int64_t i = 0; i < rotated / 2; ++i) {
    rope.inverse_frequency.push_back(
        static_cast<float>(std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(rotated))));
  }
  for (int64_t rows : {1, 3, 60}) {
    Rows x(rows, 3 * head_dim, 1);
    const Rows before = x;
    std::vector<int32_t> positions;
    for (int64_t r = 0; r < rows; ++r) positions.push_back(static_cast<int32_t>(r == 2 ? 130000 : 17 * r));
    ops->begin_step();
    ops->rope(Ops::split_heads(x.tensor(rows), 3), positions, rope);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t h = 0; h < 3; ++h) {
        const float *in = before.row(r) + h * head_dim, *out = x.row(r) + h * head_dim;
        for (int64_t i = 0; i < rotated / 2; ++i) {
          const int64_t a = pairs == Rope::Pairs::kAdjacent ? 2 * i : i,
                        b = pairs == Rope::Pairs::kAdjacent ? a + 1 : i + rotated / 2;
          const float angle =
              static_cast<float>(positions[static_cast<size_t>(r)]) * rope.inverse_frequency[static_cast<size_t>(i)];
          const double c = std::cos(static_cast<double>(angle)) * magnitude,
                       s = std::sin(static_cast<double>(angle)) * magnitude;
          const double error = 1e-6 * magnitude * (std::fabs(in[a]) + std::fabs(in[b]));
          ASSERT_NEAR(out[a], in[a] * c - in[b] * s, error)
              << "head_dim " << head_dim << ", rotated " << rotated << ", pair " << i;
          ASSERT_NEAR(out[b], in[b] * c + in[a] * s, error)
              << "head_dim " << head_dim << ", rotated " << rotated << ", pair " << i;
        }
        for (int64_t i = rotated; i < head_dim; ++i) ASSERT_EQ(out[i], in[i]) << "not rotated: " << i;
      }
    }
  }
}

TEST_P(RowsTest, RopeRotatesPairsOfBothKinds) {
  for (Rope::Pairs pairs : {Rope::Pairs::kAdjacent, Rope::Pairs::kHalves}) {
    for (int64_t head_dim : {16, 20, 24, 64, 80, 96, 128, 256}) {
      compare_rope(GetParam(), pairs, head_dim, head_dim, 1.0f);
      compare_rope(GetParam(), pairs, head_dim, head_dim / 4 * 2, 1.25f);
      compare_rope(GetParam(), pairs, head_dim, 2, 1.0f);
      compare_rope(GetParam(), pairs, head_dim, 0, 1.0f);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RowsTest, TwoRopesAndCroppedRowsInOneStep) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Rope wide{.rotated = 16, .inverse_frequency = std::vector<float>(8, 0.5f)};
  const Rope narrow{.pairs = Rope::Pairs::kHalves, .rotated = 8, .inverse_frequency = std::vector<float>(4, 0.25f)};
  const std::vector<int32_t> positions = {4, 5, 6}, last = {6};
  Rows x(3, 16, 1), y = x, alone = x, alone_narrow = x;
  ops->begin_step();
  ops->rope(Ops::split_heads(x.tensor(3), 1), positions, wide);
  ops->rope(Ops::split_heads(y.tensor(3), 1), positions, narrow);
  ops->begin_step();
  ops->rope(Ops::split_heads(alone.tensor(1, 2), 1), last, wide);
  ops->rope(Ops::split_heads(alone_narrow.tensor(1, 2), 1), last, narrow);
  EXPECT_EQ(std::memcmp(x.row(2), alone.row(2), 64), 0);
  EXPECT_EQ(std::memcmp(y.row(2), alone_narrow.row(2), 64), 0);
}

TEST_P(RowsTest, GatherTakesRowsInAnyOrder) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  Rows x(6, 33, 1);
  const std::vector<int32_t> rows = {5, 0, 0, 3};
  ops->begin_step();
  const Tensor y = ops->gather_rows(x.tensor(6), rows);
  ASSERT_EQ(y.shape, (Shape{4, 33}));
  for (size_t r = 0; r < rows.size(); ++r)
    EXPECT_EQ(std::memcmp(y.row(static_cast<int64_t>(r)), x.row(rows[r]), 33 * sizeof(float)), 0);
  EXPECT_EQ(ops->gather_rows(x.tensor(6), {}).rows(), 0);
}

TEST_P(RowsTest, ScaleMultipliesInPlace) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : {1, 7, 33, 1000}) {
    Rows x(11, size, 1);
    const Rows before = x;
    ops->begin_step();
    ops->apply(kScale, x.tensor(11), {.a = 0.3f});
    for (size_t i = 0; i < x.values.size(); ++i) ASSERT_EQ(x.values[i], before.values[i] * 0.3f);
  }
}

// The int8 form of a tensor is kept with it. Whatever changes its numbers must drop it.
TEST_P(RowsTest, AProductAfterAChangeInPlaceSeesTheChange) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Weights w(DType::kQ8_0, 64, 64, 1);
  const auto weight = backend->pack("w", w.view());
  const Linear linear{weight.get(), nullptr};
  Rows x(3, 64, 2);
  const std::vector<int32_t> all = {0, 1, 2};
  const Rope rope{.rotated = 64, .inverse_frequency = std::vector<float>(32, 0.7f)};
  const auto check = [&](const Tensor& t, const char* what) {
    const std::vector<float> numbers(t.data, t.data + 3 * 64);
    const Product expected(*weight, w, numbers.data(), 3, nullptr);
    const Tensor y = ops->linear(linear, t);
    for (int64_t i = 0; i < 3 * 64; ++i)
      ASSERT_LE(std::fabs(y.data[i] - expected.values[static_cast<size_t>(i)]), expected.errors[static_cast<size_t>(i)])
          << what;
  };
  ops->begin_step();
  const Tensor t = ops->gather_rows(x.tensor(3), all);
  check(t, "as it came");
  ops->apply(kScale, t, {.a = 2.5f});
  check(t, "after scale");
  Tensor heads = t;
  heads.shape = {3, 1, 64};
  ops->rope(heads, all, rope);
  check(t, "after rope");
  ops->linear(linear, x.tensor(3), {.add_to = t});
  check(t, "after adding a product");
  ops->gated_mlp(linear, linear, linear, Activation::kSilu, x.tensor(3), {.add_to = t});
  check(t, "after adding a gated product");
}

INSTANTIATE_TEST_SUITE_P(Isa, RowsTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
