// Products with weights of every format: x W^T, bias, adding to what is there, several at once.
#include <fmt/format.h>

#include <cstring>
#include <tuple>

#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using LinearTest = OnMachine;

// Fails at the first number that is further from its definition than it may be.
void expect_product(const Tensor& result, const Product& expected, const std::vector<float>& before,
                    const std::string& what) {
  const int64_t columns = result.row_size();
  for (int64_t r = 0; r < result.rows(); ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const double old = before.empty() ? 0.0 : before[static_cast<size_t>(r * columns + c)];
      const double want = expected.value(r, c) + old, got = result.row(r)[c];
      const double error = expected.error(r, c) + 1e-6 * std::fabs(old);
      ASSERT_LE(std::fabs(got - want), error)
          << what << ": row " << r << ", output " << c << ": " << got << ", not " << want;
    }
  }
}

struct Shape2 {
  int64_t rows, outputs;
};

// One format and one row length: the largest case is the definition of all smaller ones.
void compare_linear(const Machine& machine, Precision precision, DType type, int64_t columns,
                    const std::vector<Shape2>& shapes) {
  int64_t most_rows = 0, most_outputs = 0;
  for (const Shape2& s : shapes) {
    most_rows = std::max(most_rows, s.rows);
    most_outputs = std::max(most_outputs, s.outputs);
  }
  const auto backend = machine.backend(precision);
  const auto ops = backend->make_ops();
  Rows x(most_rows, columns, 1);
  const std::vector<float> bias = random_floats(most_outputs, 2), old = random_floats(most_rows * most_outputs, 3);
  Weights all(type, most_outputs, columns, 4);
  const auto whole = backend->pack("w", all.view());
  const Product plain(*whole, all, x.row(0), most_rows, nullptr),
      with_bias(*whole, all, x.row(0), most_rows, bias.data()),
      fine_input(*whole, all, x.row(0), most_rows, bias.data(), true);
  for (const Shape2& s : shapes) {
    ConstTensorView view = all.view();
    view.shape = {s.outputs, columns};
    const auto weight = backend->pack("w", view);
    const std::string what =
        fmt::format("{}, {} x {} -> {} ({})", format_of(type).name, s.rows, columns, s.outputs, weight->layout);
    ops->begin_step();
    expect_product(ops->linear({weight.get(), nullptr}, x.tensor(s.rows)), plain, {}, what);
    expect_product(ops->linear({weight.get(), bias.data()}, x.tensor(s.rows)), with_bias, {}, what + ", bias");
    expect_product(ops->linear(fine({weight.get(), bias.data()}), x.tensor(s.rows)), fine_input, {}, what + ", fine");
    std::vector<float> sum(old.begin(), old.begin() + s.rows * s.outputs);
    const std::vector<float> before = sum;
    const Tensor into{.data = sum.data(), .shape = {s.rows, s.outputs}};
    const Tensor added = ops->linear({weight.get(), bias.data()}, x.tensor(s.rows), {.add_to = into});
    ASSERT_EQ(added.data, sum.data());
    expect_product(added, with_bias, before, what + ", added");
    if (testing::Test::HasFatalFailure()) return;
  }
}

std::vector<Shape2> many_shapes(const Machine& machine) {
  if (machine.emulated) return {{1, 33}, {3, 5}, {4, 33}, {9, 33}, {13, 1}, {49, 33}};
  std::vector<Shape2> shapes;
  for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 48, 49, 97}) shapes.push_back({rows, 33});
  for (int64_t outputs : {1, 5, 31, 32, 100}) {
    for (int64_t rows : {1, 4, 7, 49}) shapes.push_back({rows, outputs});
  }
  return shapes;
}

std::vector<Shape2> few_shapes(const Machine& machine) {
  if (machine.emulated) return {{1, 33}, {7, 17}};
  return {{1, 33}, {2, 33}, {7, 17}, {49, 33}};
}

// Row lengths: one block; the packed kernels' slices of 2048 once and several times; 256-element blocks.
void compare_format(const Machine& machine, Precision precision, DType type) {
  const auto backend = machine.backend(precision);
  const int64_t block = format_of(type).block_elements;
  const Weights probe(type, 1, 256, 1);
  const bool packed = takes_int8(*backend->pack("probe", probe.view()));
  for (int64_t columns : {32, 64, 96, 256, 576, 768, 2080, 2304, 4160, 4352}) {
    if (columns % block != 0 || (columns % 256 == 0) != (block > 64)) continue;
    if (machine.emulated && columns != 96 && columns != 576 && columns != 768 && columns < 2304) continue;
    if (!packed && columns != 576 && columns != 768)
      continue;  // all take the float product, which has a test of its own
    const bool many = packed && (columns == 96 || columns == 576 || columns == 768) && precision == Precision::kDefault;
    compare_linear(machine, precision, type, columns, many ? many_shapes(machine) : few_shapes(machine));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(LinearTest, EveryQuantisedFormatMultipliesAsDefined) {
  for (DType type : weight_types()) {
    if (!is_float_type(type)) compare_format(GetParam(), Precision::kDefault, type);
    if (HasFatalFailure()) return;
  }
}

// So many outputs that threads take panels in groups and read them side by side; the last group is not whole.
TEST_P(LinearTest, ManyPanelsPastFewRows) {
  const Machine& machine = GetParam();
  const int64_t outputs = (8 * machine.threads + 7) * machine.kernels->panel_rows - 5;
  std::vector<Shape2> shapes = {{1, outputs}, {4, outputs}};
  if (!machine.emulated) shapes.insert(shapes.end(), {{2, outputs}, {3, outputs}});
  // Encoders of codebooks search: an emulator takes minutes for so many weights.
  const std::vector<DType> types =
      machine.emulated ? std::vector{DType::kQ4_0, DType::kQ8_0, DType::kQ4_K, DType::kMXFP4} : weight_types();
  for (DType type : types) {
    if (is_float_type(type)) continue;
    compare_linear(machine, Precision::kDefault, type, std::max<int64_t>(64, format_of(type).block_elements), shapes);
    if (HasFatalFailure()) return;
  }
}

TEST_P(LinearTest, ExactPrecisionMultipliesTheDecodedWeights) {
  for (DType type : weight_types()) {
    if (!is_float_type(type)) compare_format(GetParam(), Precision::kExact, type);
    if (HasFatalFailure()) return;
  }
}

TEST_P(LinearTest, FloatWeightsOfAnyRowLength) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (int64_t columns : {1, 20, 33, 64, 257, 576, 2080}) {
      const bool many = columns == 33 || columns == 576;
      compare_linear(GetParam(), Precision::kDefault, type, columns,
                     many ? many_shapes(GetParam()) : few_shapes(GetParam()));
      if (HasFatalFailure()) return;
    }
  }
}

// Bytes that no encoder writes: -128 is a weight like any other.
TEST_P(LinearTest, TheLowestByteOfQ8IsAWeightLikeAnyOther) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  Weights w(DType::kQ8_0, 2, 32, 1);
  for (size_t i = 2; i < 34; ++i) w.bytes[i] = std::byte{0x80};
  for (int64_t r = 0; r < 2; ++r) format_of(w.type).decode(w.view().row(r), w.decoded.data() + r * 32, 32);
  Rows x(5, 32, 2);
  for (int i = 0; i < 32; ++i)
    x.values[static_cast<size_t>(i)] = i % 3 == 0 ? -1.0f : 1.0f;  // the largest of bytes against it
  const auto weight = backend->pack("w", w.view());
  for (int64_t rows : {1, 5}) {
    const Product expected(*weight, w, x.row(0), rows, nullptr);
    ops->begin_step();
    expect_product(ops->linear({weight.get(), nullptr}, x.tensor(rows)), expected, {}, fmt::format("{} rows", rows));
  }
}

TEST_P(LinearTest, ExtremeActivationsDoNotOverflowTheIntegerSums) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0}) {
    Weights w(type, 33, 96, 1);
    const size_t block = format_of(type).block_bytes, codes = type == DType::kQ8_0 ? 32
                                                              : block == 18        ? 16
                                                                                   : block - (block % 4 == 0 ? 4 : 2);
    for (size_t at = 0; at < w.bytes.size(); at += block) {  // the largest code everywhere
      for (size_t i = block - codes; i < block; ++i)
        w.bytes[at + i] = std::byte{static_cast<uint8_t>(type == DType::kQ8_0 ? 0x7f : 0xff)};
    }
    for (int64_t r = 0; r < 33; ++r) format_of(type).decode(w.view().row(r), w.decoded.data() + r * 96, 96);
    Rows x(7, 96, 2);
    for (int64_t r = 0; r < 7; ++r) {
      for (int64_t i = 0; i < 96; ++i) x.values[static_cast<size_t>(r * 96 + i)] = r % 2 == 0 ? 3.0f : -3.0f;
    }
    const auto weight = backend->pack("w", w.view());
    for (int64_t rows : {1, 3, 7}) {
      const Product expected(*weight, w, x.row(0), rows, nullptr);
      ops->begin_step();
      expect_product(ops->linear({weight.get(), nullptr}, x.tensor(rows)), expected, {},
                     std::string(format_of(type).name));
    }
  }
}

TEST_P(LinearTest, SeveralAtOnceOnTheirOwnInputs) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Weights q(DType::kQ4_0, 96, 64, 1), k(DType::kF16, 33, 64, 2), v(DType::kQ8_0, 5, 96, 3);
  const auto wq = backend->pack("q", q.view()), wk = backend->pack("k", k.view()), wv = backend->pack("v", v.view());
  const std::vector<float> bias = random_floats(96, 4);
  Rows x(50, 64, 5), y(50, 96, 6);
  const std::vector<std::pair<int64_t, int64_t>> row_counts = {{1, 1},   {3, 2}, {3, 50}, {50, 3},
                                                               {50, 50}, {0, 4}, {7, 0}};
  for (const auto& [rows, other_rows] : row_counts) {
    ops->begin_step();
    const Linear lq{wq.get(), bias.data()}, lk{wk.get(), nullptr}, lv{wv.get(), nullptr};
    Tensor rq, rk, rv;
    ops->linears({{&lq, x.tensor(rows)}, {&lk, x.tensor(rows)}, {&lv, y.tensor(other_rows)}}, {&rq, &rk, &rv});
    ASSERT_EQ(rq.rows(), rows);
    ASSERT_EQ(rv.rows(), other_rows);
    const std::string what = fmt::format("{} and {} rows", rows, other_rows);
    expect_product(rq, Product(*wq, q, x.row(0), rows, bias.data()), {}, what + ", q");
    expect_product(rk, Product(*wk, k, x.row(0), rows, nullptr), {}, what + ", k");
    expect_product(rv, Product(*wv, v, y.row(0), other_rows, nullptr), {}, what + ", v");
    if (HasFatalFailure()) return;
  }
}

// A model larger than memory: panels are packed when they are used, and the results are the same bits.
TEST_P(LinearTest, MappedWeightsGiveTheSameBitsAsPackedOnes) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : weight_types()) {
    const int64_t block = format_of(type).block_elements;
    for (int64_t columns : {576, 768, 2304}) {
      if (columns % block != 0 || (columns % 256 == 0) != (block > 64)) continue;
      const Weights w(type, 45, columns, 4);
      const auto packed = backend->pack("w", w.view()), mapped = backend->pack("w", w.view(), Packing::kPerUse);
      EXPECT_EQ(mapped->bytes, 0u) << mapped->layout;
      if (!takes_int8(*packed)) continue;  // rows that are decoded per use are summed in another order
      Rows x(49, columns, 5);
      for (int64_t rows : {1, 3, 7, 49}) {
        ops->begin_step();
        const Tensor a = ops->linear({packed.get(), nullptr}, x.tensor(rows));
        const Tensor b = ops->linear({mapped.get(), nullptr}, x.tensor(rows));
        ASSERT_EQ(std::memcmp(a.data, b.data, static_cast<size_t>(rows * 45) * sizeof(float)), 0)
            << format_of(type).name << ", " << rows << " x " << columns;
      }
    }
  }
}

// Rows that are decoded per use are summed in another order than packed ones.
TEST_P(LinearTest, MappedFloatWeightsGiveTheSameAsPackedOnesToRounding) {
  for (Precision precision : {Precision::kDefault, Precision::kExact}) {
    const auto backend = GetParam().backend(precision);
    const auto ops = backend->make_ops();
    for (DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
      if (precision == Precision::kDefault && !is_float_type(type)) continue;
      for (int64_t columns : {256, 768}) {  // one slice of a row, and several
        const Weights w(type, 45, columns, 4);
        const auto packed = backend->pack("w", w.view()), mapped = backend->pack("w", w.view(), Packing::kPerUse);
        EXPECT_EQ(mapped->bytes, 0u) << mapped->layout;
        EXPECT_FALSE(takes_int8(*mapped)) << mapped->layout;
        Rows x(49, columns, 5);
        const std::vector<float> bias = random_floats(45, 6);
        const Product expected(*packed, w, x.row(0), 49, bias.data());
        for (int64_t rows : {1, 3, 7, 49}) {
          ops->begin_step();
          const std::string what = fmt::format("{}, {} x {}", format_of(type).name, rows, columns);
          expect_product(ops->linear({packed.get(), bias.data()}, x.tensor(rows)), expected, {}, what + ", packed");
          expect_product(ops->linear({mapped.get(), bias.data()}, x.tensor(rows)), expected, {}, what + ", mapped");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(LinearTest, NoRowsGiveNoRows) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Weights w(DType::kQ4_0, 5, 32, 1);
  const auto weight = backend->pack("w", w.view());
  Rows x(1, 32, 2);
  ops->begin_step();
  const Tensor result = ops->linear({weight.get(), nullptr}, x.tensor(0));
  EXPECT_EQ(result.rows(), 0);
  EXPECT_EQ(result.row_size(), 5);
}

// What is broken upstream must be seen downstream, not rounded away to a byte.
TEST_P(LinearTest, AnInfinityOrNanInARowIsSeenInItsResultOnly) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : {DType::kQ4_0, DType::kQ8_0, DType::kF16}) {
    const Weights w(type, 5, 96, 1);
    const auto weight = backend->pack("w", w.view());
    for (float bad : {INFINITY, -INFINITY, NAN}) {
      for (int64_t place : {0, 31, 40, 47, 95}) {
        for (int64_t rows : {3, 7}) {
          Rows x(rows, 96, 2);
          x.values[static_cast<size_t>(96 + place)] = bad;
          ops->begin_step();
          const Tensor result = ops->linear({weight.get(), nullptr}, x.tensor(rows));
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < 5; ++c) {
              ASSERT_EQ(std::isfinite(result.row(r)[c]), r != 1)
                  << format_of(type).name << ", " << bad << " at " << place << ": row " << r << ", output " << c;
            }
          }
        }
      }
    }
  }
}

TEST_P(LinearTest, RowsOfVerySmallNumbersGiveSmallResults) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : {DType::kQ4_0, DType::kQ8_0}) {
    const Weights w(type, 5, 64, 1);
    const auto weight = backend->pack("w", w.view());
    for (float size : {0.0f, 1e-44f, 1e-38f, 1e-37f, 1e-30f}) {
      Rows x(5, 64, 2, size);
      for (int64_t rows : {1, 5}) {
        ops->begin_step();
        const Tensor y = ops->linear({weight.get(), nullptr}, x.tensor(rows));
        for (int64_t i = 0; i < rows * 5; ++i)
          EXPECT_LE(std::fabs(y.data[i]), 1e3f * size) << "numbers of size " << size;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, LinearTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
