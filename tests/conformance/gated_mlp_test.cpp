// down(act(gate x) * (up x)): the int8 path that keeps the hidden rows as bytes, the float path, and mixtures.
#include <fmt/format.h>

#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using GatedMlpTest = OnMachine;

struct Mlp {
  DType gate, up, down;
  int64_t in = 64, hidden = 96, out = 33;
  Activation act = Activation::kSilu;
  bool biases = false;
  bool fine_down = false;
};

void compare_mlp(const Machine& machine, const Mlp& mlp, int64_t rows, Precision precision = Precision::kDefault) {
  const auto backend = machine.backend(precision);
  const auto ops = backend->make_ops();
  const Weights gate(mlp.gate, mlp.hidden, mlp.in, 1), up(mlp.up, mlp.hidden, mlp.in, 2),
      down(mlp.down, mlp.out, mlp.hidden, 3);
  const auto g = backend->pack("gate", gate.view()), u = backend->pack("up", up.view()),
             d = backend->pack("down", down.view());
  const std::vector<float> bg = random_floats(mlp.hidden, 4), bu = random_floats(mlp.hidden, 5),
                           bd = random_floats(mlp.out, 6);
  const auto bias = [&](const std::vector<float>& b) { return mlp.biases ? b.data() : nullptr; };
  Rows x(rows, mlp.in, 7, 0.3f);
  ops->begin_step();
  const Linear lg{g.get(), bias(bg)}, lu{u.get(), bias(bu)}, ld{d.get(), bias(bd), mlp.fine_down};
  const Tensor result = ops->gated_mlp(lg, lu, ld, mlp.act, x.tensor(rows));
  std::vector<float> sum = random_floats(rows * mlp.out, 8);
  const std::vector<float> before = sum;
  const Tensor into{.data = sum.data(), .shape = {rows, mlp.out}};
  ASSERT_EQ(ops->gated_mlp(lg, lu, ld, mlp.act, x.tensor(rows), {.add_to = into}).data, sum.data());
  ASSERT_EQ(result.rows(), rows);
  ASSERT_EQ(result.row_size(), mlp.out);

  const GatedProduct expected({*g, gate, bias(bg)}, {*u, up, bias(bu)}, {*d, down, bias(bd), mlp.fine_down}, mlp.act,
                              x.row(0), rows);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < mlp.out; ++o) {
      const double want = expected.value(r, o), got = result.row(r)[o];
      const std::string what =
          fmt::format("{} {} {}, {} rows, {}, {}: row {}, output {}", format_of(mlp.gate).name, format_of(mlp.up).name,
                      format_of(mlp.down).name, rows, name_of(mlp.act), mlp.biases ? "biases" : "no biases", r, o);
      ASSERT_LE(std::fabs(got - want), expected.error(r, o)) << what << ": " << got << ", not " << want;
      const double old = before[static_cast<size_t>(r * mlp.out + o)],
                   added = sum[static_cast<size_t>(r * mlp.out + o)];
      ASSERT_LE(std::fabs(added - (got + old)), 1e-6 * (std::fabs(got) + std::fabs(old))) << what << ", added";
    }
  }
}

std::vector<int64_t> row_counts(const Machine& machine) {
  if (machine.emulated) return {1, 4, 5, 49};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 48, 49, 97};
}

TEST_P(GatedMlpTest, PackedWeightsOfEveryFormat) {
  for (DType type :
       {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kIQ4_NL, DType::kMXFP4}) {
    for (int64_t rows : row_counts(GetParam())) {
      compare_mlp(GetParam(), {.gate = type, .up = type, .down = type}, rows);
      if (HasFatalFailure()) return;
    }
  }
  for (DType type : {DType::kQ4_K, DType::kQ5_K, DType::kIQ4_XS}) {
    for (int64_t rows : {1, 4, 5, 49}) {
      compare_mlp(GetParam(), {.gate = type, .up = type, .down = type, .in = 256, .hidden = 256}, rows);
      if (HasFatalFailure()) return;
    }
  }
}

// So many hidden numbers that threads take them in groups and read their panels side by side.
TEST_P(GatedMlpTest, ManyPanelsPastFewRows) {
  const int64_t hidden = 32 * (8 * GetParam().threads + 7);
  for (int64_t rows : {1, 2, 4}) {
    for (bool biases : {false, true}) {
      compare_mlp(GetParam(), {DType::kQ4_0, DType::kQ4_0, DType::kQ8_0, 64, hidden, 33, Activation::kSilu, biases},
                  rows);
      compare_mlp(GetParam(), {DType::kQ4_0, DType::kQ8_0, DType::kQ8_0, 64, hidden, 33, Activation::kSilu, biases},
                  rows);
    }
    compare_mlp(GetParam(),
                {.gate = DType::kQ4_K, .up = DType::kQ4_K, .down = DType::kQ8_0, .in = 256, .hidden = hidden}, rows);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GatedMlpTest, FineInputOfTheWayBack) {
  for (int64_t rows : row_counts(GetParam())) {
    compare_mlp(GetParam(), {.gate = DType::kQ4_1, .up = DType::kQ4_1, .down = DType::kQ4_1, .fine_down = true}, rows);
    compare_mlp(GetParam(),
                {.gate = DType::kQ4_0, .up = DType::kQ8_0, .down = DType::kQ5_0, .hidden = 2080, .fine_down = true},
                rows);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GatedMlpTest, BiasesAndAllActivations) {
  for (Activation act : {Activation::kSilu, Activation::kGelu, Activation::kClampedSilu}) {
    for (int64_t rows : row_counts(GetParam())) {
      compare_mlp(GetParam(), {DType::kQ4_0, DType::kQ4_0, DType::kQ4_0, 64, 96, 33, act, true}, rows);
      compare_mlp(GetParam(), {DType::kF16, DType::kF16, DType::kF16, 64, 96, 33, act, true}, rows);
      compare_mlp(GetParam(), {DType::kQ8_0, DType::kQ8_0, DType::kQ8_0, 32, 32, 1, act, false}, rows);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GatedMlpTest, FloatWeightsOfAwkwardSizes) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (int64_t rows : row_counts(GetParam())) {
      compare_mlp(GetParam(), {type, type, type, 33, 45, 7, Activation::kSilu, true}, rows);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GatedMlpTest, FormatsThatDiffer) {
  const DType q4 = DType::kQ4_0, q8 = DType::kQ8_0, f16 = DType::kF16, q6 = DType::kQ6_K;
  for (int64_t rows : {1, 4, 5, 49}) {
    compare_mlp(GetParam(), {q4, q8, q4}, rows);
    compare_mlp(GetParam(), {q4, f16, q4}, rows);
    compare_mlp(GetParam(), {q8, q8, f16}, rows);
    compare_mlp(GetParam(), {f16, f16, q8}, rows);
    compare_mlp(GetParam(), {q4, q4, q6, 64, 256, 33}, rows);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GatedMlpTest, RowsLongerThanASlice) {
  for (int64_t rows : {1, 3, 50}) {
    compare_mlp(GetParam(), {DType::kQ4_0, DType::kQ8_0, DType::kQ4_0, 2080, 64, 5}, rows);
    compare_mlp(GetParam(), {DType::kQ4_0, DType::kQ4_0, DType::kQ5_1, 32, 2080, 5}, rows);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GatedMlpTest, ExactPrecisionRoundsNothing) {
  for (int64_t rows : {1, 4, 13}) {
    compare_mlp(GetParam(), {DType::kQ4_0, DType::kQ8_0, DType::kQ5_1, 64, 96, 33, Activation::kSilu, true}, rows,
                Precision::kExact);
    compare_mlp(GetParam(), {DType::kF16, DType::kQ4_K, DType::kQ8_0, 256, 64, 33, Activation::kGelu, true}, rows,
                Precision::kExact);
    if (HasFatalFailure()) return;
  }
}

// up(x) = 10 x and gate(x) = x pass 7 in both directions at different places.
TEST_P(GatedMlpTest, AClampedActivationIsClampedWhereItSays) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const int64_t n = 41;
  Weights gate(DType::kF32, n, n, 1), up(DType::kF32, n, n, 1);
  for (Weights* w : {&gate, &up}) {
    auto* numbers = reinterpret_cast<float*>(w->bytes.data());
    std::fill_n(numbers, n * n, 0.0f);
    for (int64_t i = 0; i < n; ++i) numbers[i * n + i] = w == &gate ? 1.0f : 10.0f;
  }
  const auto g = backend->pack("gate", gate.view()), u = backend->pack("up", up.view());
  Rows x(1, n, 2);
  for (int64_t i = 0; i < n; ++i) x.values[static_cast<size_t>(i)] = 0.5f * static_cast<float>(i - 20);
  ops->begin_step();
  const Tensor y =
      ops->gated_mlp({g.get(), nullptr}, {u.get(), nullptr}, {g.get(), nullptr}, Activation::kClampedSilu, x.tensor(1));
  for (int64_t i = 0; i < n; ++i) {
    const double in = x.values[static_cast<size_t>(i)], want = activated(Activation::kClampedSilu, in, 10 * in);
    EXPECT_LE(std::fabs(y.data[i] - want), 2e-6 * std::fabs(want)) << in;
    if (in >= 7) {
      EXPECT_EQ(y.data[i], y.data[n - 1]) << in;
    }
  }
}

// From far below zero to far above: no overflow, no digits lost in tanh or exp. gate is the identity, so it hands x
// through; up gives 1.
TEST_P(GatedMlpTest, ActivationsOverTheirWholeRange) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const int64_t n = 67;
  Weights identity(DType::kF32, n, n, 1), zero(DType::kF32, n, n, 1);
  auto* diagonal = reinterpret_cast<float*>(identity.bytes.data());
  std::fill_n(diagonal, n * n, 0.0f);
  for (int64_t i = 0; i < n; ++i) diagonal[i * n + i] = 1.0f;
  std::fill_n(reinterpret_cast<float*>(zero.bytes.data()), n * n, 0.0f);
  const auto through = backend->pack("identity", identity.view()), nothing = backend->pack("zero", zero.view());
  const std::vector<float> ones(static_cast<size_t>(n), 1.0f);
  Rows x(2, n, 2);
  const float points[] = {-1e30f, -1e4f, -200.0f, -89.0f, -87.5f, -30.0f, -9.0f,  -5.0f,
                          -3.0f,  -1.0f, -0.2f,   -0.13f, -0.1f,  -0.01f, -1e-6f, 0.0f};
  for (size_t i = 0; i < static_cast<size_t>(2 * n); ++i)
    x.values[i] = points[i % 16] * (i / 16 % 2 == 0 ? 1.0f : -1.0f);
  for (Activation act : {Activation::kSilu, Activation::kGelu}) {
    ops->begin_step();
    const Tensor y = ops->gated_mlp({through.get(), nullptr}, {nothing.get(), ones.data()}, {through.get(), nullptr},
                                    act, x.tensor(2));
    for (size_t i = 0; i < static_cast<size_t>(2 * n); ++i) {
      const double in = x.values[i], want = act == Activation::kSilu ? silu(in) : gelu(in);
      // Relative; below zero 1 + tanh cancels, and a sigmoid ends at 4.2e-39.
      const double floor = act == Activation::kGelu ? 1e-7 * std::fmin(std::fabs(in), 10.0) : 5e-39 * std::fabs(in);
      EXPECT_LE(std::fabs(y.data[i] - want), 2e-6 * std::fabs(want) + floor)
          << (act == Activation::kSilu ? "silu" : "gelu") << " of " << in << ": " << y.data[i] << ", not " << want;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, GatedMlpTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
