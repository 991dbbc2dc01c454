// Operations that change rows where they are: norms that are added, gates, caps, factors per column, sums.
#include <fmt/format.h>

#include <functional>
#include <span>

#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using InPlaceTest = OnMachine;

// Around the vector sizes, and long.
const std::vector<int64_t> kSizes = {1, 3, 16, 20, 33, 96, 257, 1000};
// 50 rows of 1000 are work for several threads.
const std::vector<int64_t> kRowCounts = {1, 2, 50};

TEST_P(InPlaceTest, ANormIsAddedToRowsThatAreThere) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : kSizes) {
    for (int64_t rows : kRowCounts) {
      Rows x(rows, size, 1);
      const std::vector<float> gain = random_floats(size, 2);
      for (const float* g : {gain.data(), static_cast<const float*>(nullptr)}) {
        Rows sum(rows, size, 3);
        const Rows before = sum;
        ops->begin_step();
        const Tensor y =
            ops->norm({.gain = g, .size = size, .eps = 1e-6f}, x.tensor(rows), {.add_to = sum.tensor(rows)});
        ASSERT_EQ(y.data, sum.values.data());
        for (int64_t r = 0; r < rows; ++r) {
          double squares = 0;
          for (int64_t i = 0; i < size; ++i) squares += static_cast<double>(x.row(r)[i]) * x.row(r)[i];
          const double factor = 1.0 / std::sqrt(squares / static_cast<double>(size) + 1e-6f);
          for (int64_t i = 0; i < size; ++i) {
            const double more = x.row(r)[i] * factor * (g == nullptr ? 1.0f : g[i]), old = before.row(r)[i];
            ASSERT_NEAR(sum.row(r)[i], old + more, 1e-6 * std::fabs(more) + 1e-7 * std::fabs(old))
                << size << " numbers" << (g == nullptr ? "" : ", gain") << ", row " << r << ", " << i;
          }
        }
      }
    }
  }
}

TEST_P(InPlaceTest, ASigmoidIsOneHalfAtZeroAndStaysWithinItsBounds) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : kSizes) {
    for (int64_t rows : kRowCounts) {
      Rows x(rows, size, 1, 4.0f);
      x.values[0] = 0;
      x.values.back() = size == 1 && rows == 1 ? 0.0f : -1000.0f;
      const Rows before = x;
      ops->begin_step();
      ops->apply(kSigmoid, x.tensor(rows));
      for (size_t i = 0; i < x.values.size(); ++i) {
        const double want = 1 / (1 + std::exp(-static_cast<double>(before.values[i])));
        ASSERT_NEAR(x.values[i], want, 3e-7 * want) << size << " numbers, place " << i;
      }
      EXPECT_EQ(x.values[0], 0.5f);
    }
  }
}

TEST_P(InPlaceTest, ANormOfHeadsIsAddedToHeads) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  Rows x(5, 3 * 24, 1), heads(5, 3 * 24, 2), rows = heads;
  const std::vector<float> gain = random_floats(24, 3);
  const Norm norm{.gain = gain.data(), .size = 24, .eps = 1e-5f};
  ops->begin_step();
  const Tensor y = ops->norm(norm, Ops::split_heads(x.tensor(5), 3), {.add_to = Ops::split_heads(heads.tensor(5), 3)});
  EXPECT_EQ(y.shape, (Shape{5, 3, 24}));
  ops->norm(norm, {.data = x.values.data(), .shape = {15, 24}},
            {.add_to = {.data = rows.values.data(), .shape = {15, 24}}});
  EXPECT_EQ(heads.values, rows.values);
}

TEST_P(InPlaceTest, AGateIsActivatedAndMultiplied) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (Activation act : {Activation::kSilu, Activation::kGelu}) {
    for (int64_t size : kSizes) {
      for (int64_t column : {0, 1, 24}) {
        for (int64_t rows : kRowCounts) {
          // Of the other rows a part in the middle: more follows.
          Rows gate(rows, size, 1, 3.0f), by(rows, column + size + 5, 2);
          const Rows before = gate, by_before = by;
          ops->begin_step();
          ops->apply(act == Activation::kSilu ? kSiluMul : kGeluMul, gate.tensor(rows),
                     {.y = by.tensor(rows), .column = column});
          ASSERT_EQ(by.values, by_before.values);
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t i = 0; i < size; ++i) {
              const double in = before.row(r)[i], factor = by.row(r)[column + i];
              const double want = (act == Activation::kSilu ? silu(in) : gelu(in)) * factor;
              // Of gelu 1 + tanh cancels below zero.
              const double floor = act == Activation::kGelu ? 1e-7 * std::fabs(in * factor) : 0.0;
              ASSERT_NEAR(gate.row(r)[i], want, 2e-6 * std::fabs(want) + floor)
                  << (act == Activation::kSilu ? "silu" : "gelu") << " of " << in << " times " << factor << ", column "
                  << column << " of " << size << ", row " << r;
            }
          }
        }
      }
    }
  }
}

TEST_P(InPlaceTest, GeluIsTheShareOfNormalNumbersBelow) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : kSizes) {
    for (float deviation : {1e-6f, 1.0f, 8.0f}) {
      Rows x(3, size, 1, deviation);
      const Rows before = x;
      ops->begin_step();
      ops->apply(kGelu, x.tensor(3));
      for (size_t i = 0; i < x.values.size(); ++i) {
        const double in = before.values[i], want = in / 2 * std::erfc(-in / std::sqrt(2.0));
        // Far below zero the exponent's own rounding shows.
        ASSERT_NEAR(x.values[i], want, (1e-6 + 1e-7 * in * in) * std::fabs(want) + 1e-36) << in;
      }
    }
  }
  std::vector<float> edges = {0.0f, -0.0f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN};
  ops->begin_step();
  ops->apply(kGelu, {.data = edges.data(), .shape = {1, 7}});
  EXPECT_EQ(edges[0], 0.0f);
  EXPECT_EQ(edges[2], 1e30f);
  EXPECT_NEAR(edges[3], 0.0f, 1e-6f);
  EXPECT_EQ(edges[4], INFINITY);
  EXPECT_TRUE(std::isnan(edges[6]));
}

// Pieces of 8192 are the tasks.
TEST_P(InPlaceTest, ASoftCapBendsNumbersBelowIt) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (float cap : {30.0f, 0.5f}) {
    for (int64_t size : {1, 7, 33, 8192, 8195, 20001}) {
      for (int64_t rows : {1, 3}) {
        for (float deviation : {1e-6f, 0.1f, 20.0f, 1e20f}) {
          Rows x(rows, size, 1, deviation);
          const Rows before = x;
          ops->begin_step();
          ops->apply(kSoftCap, x.tensor(rows), {.a = cap});
          for (size_t i = 0; i < x.values.size(); ++i) {
            const double want = cap * std::tanh(static_cast<double>(before.values[i]) / cap);
            ASSERT_NEAR(x.values[i], want, 2e-6 * std::fabs(want)) << cap << ", " << before.values[i];
            ASSERT_LE(std::fabs(x.values[i]), cap);
          }
        }
      }
    }
  }
}

TEST_P(InPlaceTest, EveryColumnHasItsFactor) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : kSizes) {
    const std::vector<float> factors = random_floats(size, 2);
    for (int64_t rows : kRowCounts) {
      Rows x(rows, size, 1);
      const Rows before = x;
      ops->begin_step();
      ops->apply(kScaleColumns, x.tensor(rows), {.vector = factors.data()});
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < size; ++i)
          ASSERT_EQ(x.row(r)[i], before.row(r)[i] * factors[static_cast<size_t>(i)]) << size << ", row " << r;
      }
    }
  }
}

TEST_P(InPlaceTest, AMultipleOfOtherRowsIsAdded) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : kSizes) {
    for (int64_t rows : kRowCounts) {
      for (float factor : {1.0f, -1.0f, 0.0f, 0.37f}) {
        Rows x(rows, size, 1), y(rows, size, 2);
        const Rows before = x, other = y;
        ops->begin_step();
        ops->apply(kAddScaled, x.tensor(rows), {.y = y.tensor(rows), .a = factor});
        ASSERT_EQ(y.values, other.values);
        for (size_t i = 0; i < x.values.size(); ++i) {
          const double old = before.values[i], more = static_cast<double>(factor) * y.values[i];
          ASSERT_NEAR(x.values[i], old + more, 2e-7 * (std::fabs(old) + std::fabs(more))) << factor;
        }
      }
    }
  }
}

// The int8 form of a tensor is kept with it. Whatever changes its numbers must drop it.
TEST_P(InPlaceTest, AProductAfterAChangeSeesTheChange) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Weights w(DType::kQ8_0, 64, 64, 1);
  const auto weight = backend->pack("w", w.view()), table = backend->table("t", w.view());
  const Linear linear{weight.get(), nullptr};
  const std::vector<int32_t> all = {0, 1, 2};
  const std::vector<float> factors = random_floats(64, 5), stream_weights = {2.0f};
  const auto as_streams = [](Tensor t) {
    t.shape = {3, 1, 64};
    return t;
  };
  struct Change {
    const char* name;
    std::function<void(Tensor x, Tensor other)> make;
  };
  const Change changes[] = {
      {"embed", [&](Tensor x, Tensor) { ops->embed(*table, all, {}, {.add_to = x}); }},
      {"norm",
       [&](Tensor x, Tensor other) { ops->norm({.gain = nullptr, .size = 64, .eps = 1e-6f}, other, {.add_to = x}); }},
      {"gelu_mul", [&](Tensor x, Tensor other) { ops->apply(kGeluMul, x, {.y = other}); }},
      {"sigmoid", [&](Tensor x, Tensor) { ops->apply(kSigmoid, x); }},
      {"soft_cap", [&](Tensor x, Tensor) { ops->apply(kSoftCap, x, {.a = 0.5f}); }},
      {"scale_columns", [&](Tensor x, Tensor) { ops->apply(kScaleColumns, x, {.vector = factors.data()}); }},
      {"add_scaled", [&](Tensor x, Tensor other) { ops->apply(kAddScaled, x, {.y = other, .a = 2.0f}); }},
      {"add_to_streams", [&](Tensor x, Tensor other) { ops->add_to_streams(as_streams(x), other, stream_weights); }},
      {"match_magnitude",
       [&](Tensor x, Tensor other) {
         ops->apply(kScale, other, {.a = 5.0f});
         ops->apply(kMatchMagnitude, x, {.y = other, .a = 1e-5f});
       }},
      {"keep_largest", [&](Tensor x, Tensor) { ops->apply(kKeepLargest, x, {.a = 0.2f}); }},
  };
  for (const Change& change : changes) {
    for (bool is_fine : {false, true}) {
      Rows x(3, 64, 2), other(3, 64, 3);
      ops->begin_step();
      const Tensor t = ops->gather_rows(x.tensor(3), all);
      const Linear l = is_fine ? fine(linear) : linear;
      ops->linear(l, t);  // makes the int8 form
      change.make(t, other.tensor(3));
      const std::vector<float> numbers(t.data, t.data + 3 * 64);
      ASSERT_NE(numbers, x.values) << change.name;
      const Product expected(*weight, w, numbers.data(), 3, nullptr, is_fine);
      const Tensor y = ops->linear(l, t);
      for (int64_t i = 0; i < 3 * 64; ++i) {
        ASSERT_LE(std::fabs(y.data[i] - expected.values[static_cast<size_t>(i)]),
                  expected.errors[static_cast<size_t>(i)])
            << change.name << (is_fine ? ", fine" : "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, InPlaceTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
