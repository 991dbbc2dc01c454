// Row operations as such: fast versions against the definition, and what every operation gets from apply() whether it
// has a fast version or not. What the operations mean is tested beside this, in double precision.
#include <fmt/format.h>

#include "backend/cpu/cpu_row_ops.h"
#include "base/error.h"
#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using RowOpsTest = OnMachine;

// Around the vector sizes, and around the pieces that long rows are cut into: 8192 numbers of a soft cap, ten times
// that of a factor.
const std::vector<int64_t> kSizes = {1, 3, 15, 16, 17, 33, 100, 257, 1000, 8191, 8193, 20001, 82003};
constexpr int64_t kMostNumbers = 250000;

// Operations that no table knows. Of each x = x + 10 * (its place in what it was given) + b * (numbers it was given).
void add_places(const RowView& r) noexcept {
  for (int64_t i = 0; i < r.n; ++i) r.x[i] += static_cast<float>(10 * i) + r.b * static_cast<float>(r.n);
}
constexpr RowOp kWhole = {.name = "whole", .operations_per_number = 3, .row = add_places};
constexpr RowOp kCut = {.name = "cut", .operations_per_number = 10, .elementwise = true, .row = add_places};
// x = x * y + vector + a
constexpr RowOp kAllOperands = {.name = "all_operands",
                                .operations_per_number = 3,
                                .elementwise = true,
                                .reads_y = true,
                                .reads_vector = true,
                                .row = [](const RowView& r) noexcept {
                                  for (int64_t i = 0; i < r.n; ++i) r.x[i] = r.x[i] * r.y[i] + r.vector[i] + r.a;
                                }};

TEST_P(RowOpsTest, AFastVersionIsTheDefinitionToRounding) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (const cpu::FastRowOp& fast : cpu::fast_row_ops()) {
    for (int64_t size : kSizes) {
      const std::vector<float> vector = random_floats(size, 3);
      for (int64_t rows : {1, 3, 20}) {
        if (rows * size > kMostNumbers) continue;
        for (float deviation : {1e-3f, 1.0f, 10.0f}) {
          Rows x(rows, size, 1, deviation), y(rows, size + 9, 2, 0.25f);
          const Rows before = x, y_before = y;
          Rows want = x;
          for (int64_t r = 0; r < rows; ++r) {
            fast.op->row({.x = want.values.data() + r * size,
                          .n = size,
                          .y = y.row(r) + 4,
                          .vector = vector.data(),
                          .a = 0.75f,
                          .b = 0.5f});
          }
          ops->begin_step();
          ops->apply(*fast.op, x.tensor(rows),
                     {.y = y.tensor(rows), .column = 4, .vector = vector.data(), .a = 0.75f, .b = 0.5f});
          ASSERT_EQ(y.values, y_before.values);
          for (size_t i = 0; i < x.values.size(); ++i) {
            // Sums may cancel: their rounding is of the size of what is added.
            const float error = 4e-6f * std::fabs(want.values[i]) + 2e-7f * std::fabs(before.values[i]);
            ASSERT_NEAR(x.values[i], want.values[i], error)
                << fast.op->name << " of " << before.values[i] << ", " << i << " of " << rows << " rows of " << size;
          }
        }
      }
    }
  }
}

TEST_P(RowOpsTest, WhatHasNoFastVersionRunsItsDefinition) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t size : kSizes) {
    const std::vector<float> vector = random_floats(size, 3);
    for (int64_t rows : {1, 3, 20}) {
      if (rows * size > kMostNumbers) continue;
      Rows x(rows, size, 1), y(rows, size + 9, 2);
      const Rows before = x;
      ops->begin_step();
      ops->apply(kAllOperands, x.tensor(rows), {.y = y.tensor(rows), .column = 9, .vector = vector.data(), .a = 0.5f});
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < size; ++i) {
          const float product = before.row(r)[i] * y.row(r)[9 + i];
          ASSERT_NEAR(x.row(r)[i], product + vector[static_cast<size_t>(i)] + 0.5f, 2e-6f) << size << ", row " << r;
        }
      }
    }
  }
}

TEST_P(RowOpsTest, OnlyRowsOfElementwiseOperationsAreCut) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const int64_t size = 2 * 8192 + 5;
  std::vector<float> whole(static_cast<size_t>(2 * size), 0.0f), cut = whole;
  ops->begin_step();
  ops->apply(kWhole, {.data = whole.data(), .shape = {2, size}}, {.b = 1000});
  ops->apply(kCut, {.data = cut.data(), .shape = {2, size}}, {.b = 1000});
  for (int64_t i = 0; i < 2 * size; ++i) {
    const int64_t column = i % size, part = column < 2 * 8192 ? 8192 : 5;
    ASSERT_EQ(whole[static_cast<size_t>(i)], static_cast<float>(10 * column) + 1000.0f * static_cast<float>(size)) << i;
    ASSERT_EQ(cut[static_cast<size_t>(i)], static_cast<float>(10 * (column % 8192) + 1000 * part)) << i;
  }
}

TEST_P(RowOpsTest, TheProfileHasTheOperationsName) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  Rows x(4, 50, 1), y(4, 50, 2);
  ops->set_profile(true);
  ops->begin_step();
  ops->set_layer(7);
  for (int i = 0; i < 3; ++i) ops->apply(kWhole, x.tensor(4), {.b = 1});
  ops->apply(kAddScaled, x.tensor(4), {.y = y.tensor(4), .a = 1});
  const std::vector<OpTiming> lines = ops->profile();
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].op, "add_scaled");
  EXPECT_EQ(lines[0].bytes, 3 * 4 * 200);
  EXPECT_EQ(lines[0].operations, 2 * 200);
  EXPECT_EQ(lines[1].op, "whole");
  EXPECT_EQ(lines[1].layer, 7);
  EXPECT_EQ(lines[1].calls, 3);
  EXPECT_EQ(lines[1].rows, 3 * 4);
  EXPECT_EQ(lines[1].bytes, 3 * 2 * 4 * 200);
  EXPECT_EQ(lines[1].operations, 3 * 3 * 200);
}

// The int8 form of a tensor is kept with it.
TEST_P(RowOpsTest, AProductAfterAnyOperationSeesTheChange) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Weights w(DType::kQ8_0, 64, 64, 1);
  const auto weight = backend->pack("w", w.view());
  const Linear linear{weight.get(), nullptr};
  Rows x(3, 64, 2);
  const std::vector<int32_t> all = {0, 1, 2};
  ops->begin_step();
  const Tensor t = ops->gather_rows(x.tensor(3), all);
  ops->linear(linear, t);  // makes the int8 form
  ops->apply(kWhole, t, {.b = 0});
  const Product expected(*weight, w, t.data, 3, nullptr);
  const Tensor y = ops->linear(linear, t);
  for (int64_t i = 0; i < 3 * 64; ++i)
    ASSERT_NEAR(y.data[i], expected.values[static_cast<size_t>(i)], expected.errors[static_cast<size_t>(i)]);
}

TEST_P(RowOpsTest, NothingHappensToNoRows) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  ops->begin_step();
  for (const RowOp* op : {&kWhole, &kCut, &kAllOperands, &kSoftCap, &kGeluMul})
    ops->apply(*op, {.data = nullptr, .shape = {0, 64}});
}

TEST_P(RowOpsTest, OperandsThatAreMissingOrTooSmallAreRefused) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  Rows x(3, 1, 1), y(3, 5, 2);
  const std::vector<float> vector = {1};
  const Tensor two_rows{.data = y.values.data(), .shape = {2, 5}};
  ops->begin_step();
  const auto refused = [&](const RowOp& op, int64_t rows, const RowOperands& operands) {
    try {
      ops->apply(op, x.tensor(rows), operands);
    } catch (const Error& e) {
      return e.code() == ErrorCode::kInternal;
    }
    return false;
  };
  EXPECT_TRUE(refused(kAddScaled, 1, {.a = 1}));
  EXPECT_TRUE(refused(kAddScaled, 3, {.y = two_rows, .a = 1}));
  EXPECT_TRUE(refused(kAddScaled, 3, {.y = y.tensor(3), .column = 5, .a = 1}));
  EXPECT_TRUE(refused(kAddScaled, 3, {.y = y.tensor(3), .column = -1, .a = 1}));
  EXPECT_TRUE(refused(kScaleColumns, 3, {.a = 1}));
  EXPECT_FALSE(refused(kAddScaled, 3, {.y = y.tensor(3), .column = 4, .a = 1}));
  EXPECT_FALSE(refused(kScaleColumns, 3, {.vector = vector.data()}));
}

INSTANTIATE_TEST_SUITE_P(Isa, RowOpsTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
