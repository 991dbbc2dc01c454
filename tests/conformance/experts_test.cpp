// Mixtures of experts: which experts a row goes to, and the weighted sum of their blocks.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using RouteTest = OnMachine;
using ExpertsTest = OnMachine;

std::vector<int32_t> experts_of(const Routes& routes, int64_t row) {
  return {routes.expert + row * routes.used, routes.expert + (row + 1) * routes.used};
}

TEST_P(RouteTest, TheBestComeFirstAndOfEqualsTheFirst) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  std::vector<float> scores = {1,  3,  2, 3,  //
                               5,  5,  5, 5,  //
                               -1, -2, 0, 1,  //
                               2,  7,  7, 2};
  const Tensor x{.data = scores.data(), .shape = {4, 4}};
  ops->begin_step();
  const Routes two = ops->route(x, 2);
  EXPECT_EQ(two.rows, 4);
  EXPECT_EQ(two.used, 2);
  EXPECT_EQ(experts_of(two, 0), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(experts_of(two, 1), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(experts_of(two, 2), (std::vector<int32_t>{3, 2}));
  EXPECT_EQ(experts_of(two, 3), (std::vector<int32_t>{1, 2}));
  for (int64_t i : {0, 1, 2, 3, 6, 7}) EXPECT_EQ(two.weight[i], 0.5f);
  EXPECT_NEAR(two.weight[4], std::exp(1.0) / (std::exp(1.0) + 1.0), 1e-7);
  EXPECT_NEAR(two.weight[5], 1.0 / (std::exp(1.0) + 1.0), 1e-7);
  const Routes all = ops->route(x, 4);
  EXPECT_EQ(experts_of(all, 0), (std::vector<int32_t>{1, 3, 2, 0}));
  EXPECT_EQ(experts_of(all, 1), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(experts_of(all, 2), (std::vector<int32_t>{3, 2, 0, 1}));
  EXPECT_EQ(experts_of(all, 3), (std::vector<int32_t>{1, 2, 0, 3}));
  const Routes one = ops->route(x, 1);
  EXPECT_EQ(experts_of(one, 3), (std::vector<int32_t>{1}));
  EXPECT_EQ(one.weight[3], 1.0f);
}

TEST_P(RouteTest, AnExpertsScaleMultipliesItsWeight) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  std::vector<float> scores = {1, 3, 2, 3, 5, 5, 5, 5};
  const std::vector<float> scale = {7, 2, 3, 0.25f};
  ops->begin_step();
  const Routes routes = ops->route({.data = scores.data(), .shape = {2, 4}}, 2, {.scale = scale.data()});
  EXPECT_EQ(experts_of(routes, 0), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(routes.weight[0], 1.0f);    // 0.5 * 2
  EXPECT_EQ(routes.weight[1], 0.125f);  // 0.5 * 0.25
  EXPECT_EQ(routes.weight[2], 3.5f);
  EXPECT_EQ(routes.weight[3], 1.0f);
}

// The definition: softmax over all experts, the best of them, divided by their sum.
TEST_P(RouteTest, WeightsAreSharesOfTheSoftmax) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t experts : {1, 6, 128}) {
    const std::vector<float> scale = random_floats(experts, 2);
    for (int64_t used : {int64_t{1}, int64_t{8}, experts}) {
      if (used > experts) continue;
      for (int64_t rows : {1, 3, 70}) {
        for (float deviation : {0.0f, 1.0f, 1000.0f}) {
          Rows x(rows, experts, 1, deviation);
          for (size_t i = 0; i < x.values.size(); i += 5) x.values[i] = x.values[i / 2];  // equals
          ops->begin_step();
          const Routes routes = ops->route(x.tensor(rows), used, {.scale = scale.data()});
          for (int64_t r = 0; r < rows; ++r) {
            const float* score = x.row(r);
            std::vector<int32_t> order(static_cast<size_t>(experts));
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return score[a] > score[b]; });
            order.resize(static_cast<size_t>(used));
            ASSERT_EQ(experts_of(routes, r), order) << experts << " experts, row " << r;
            double all = 0, best = 0;
            for (int64_t e = 0; e < experts; ++e) all += std::exp(static_cast<double>(score[e]) - score[order[0]]);
            const auto share = [&](int32_t e) {
              return std::exp(static_cast<double>(score[e]) - score[order[0]]) / all;
            };
            for (int32_t e : order) best += share(e);
            for (int64_t i = 0; i < used; ++i) {
              const int32_t e = order[static_cast<size_t>(i)];
              const double want = share(e) / best * scale[static_cast<size_t>(e)];
              ASSERT_NEAR(routes.weight[r * used + i], want, 2e-7 * std::fabs(want) + 1e-44) << experts << " experts";
            }
          }
        }
      }
    }
  }
}

TEST_P(RouteTest, SharesOfAllAreNotDividedByTheirSum) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  std::vector<float> scores = {1, 3, 2, 3, 5, 5, 5, 5};
  const std::vector<float> scale = {7, 2, 3, 4};
  ops->begin_step();
  const Routes routes =
      ops->route({.data = scores.data(), .shape = {2, 4}}, 2, {.shares = Shares::kOfAll, .scale = scale.data()});
  const double all = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0);
  EXPECT_EQ(experts_of(routes, 0), (std::vector<int32_t>{1, 3}));
  EXPECT_NEAR(routes.weight[0], 2 * std::exp(3.0) / all, 2e-7);
  EXPECT_NEAR(routes.weight[1], 4 * std::exp(3.0) / all, 3e-7);
  EXPECT_EQ(routes.weight[2], 1.75f);  // 7 * 0.25
  EXPECT_EQ(routes.weight[3], 0.5f);
}

// The definition in double precision: groups in the order of the sum of their best, experts in the order of what they
// are worth; weights of what scores stand for, without the bias.
std::vector<std::pair<int32_t, double>> chosen(const float* score, int64_t experts, int64_t used,
                                               const RouteOptions& options) {
  std::vector<double> worth(static_cast<size_t>(experts));
  double all = 0;
  for (size_t e = 0; e < worth.size(); ++e) all += std::exp(static_cast<double>(score[e]));
  for (size_t e = 0; e < worth.size(); ++e) {
    worth[e] = options.gating == Gating::kSigmoid ? 1 / (1 + std::exp(-static_cast<double>(score[e])))
                                                  : std::exp(static_cast<double>(score[e])) / all;
  }
  std::vector<double> by = worth;
  for (size_t e = 0; options.bias != nullptr && e < by.size(); ++e) by[e] += options.bias[e];
  const int64_t size = experts / options.groups;
  std::vector<std::pair<double, int64_t>> groups;
  for (int64_t g = 0; g < options.groups; ++g) {
    std::vector<double> members(by.begin() + g * size, by.begin() + (g + 1) * size);
    std::ranges::sort(members, std::greater{});
    groups.push_back({-std::accumulate(members.begin(), members.begin() + options.group_best, 0.0), g});
  }
  std::ranges::sort(groups);
  std::vector<int32_t> order;
  for (int64_t i = 0; i < options.groups_used; ++i) {
    for (int64_t e = 0; e < size; ++e)
      order.push_back(static_cast<int32_t>(groups[static_cast<size_t>(i)].second * size + e));
  }
  std::ranges::sort(order);
  std::ranges::stable_sort(
      order, [&](int32_t a, int32_t b) { return by[static_cast<size_t>(a)] > by[static_cast<size_t>(b)]; });
  double sum = 0;
  for (int64_t i = 0; i < used; ++i) sum += worth[static_cast<size_t>(order[static_cast<size_t>(i)])];
  if (options.shares == Shares::kOfAll) sum = 1;
  std::vector<std::pair<int32_t, double>> result;
  for (int64_t i = 0; i < used; ++i) {
    const int32_t e = order[static_cast<size_t>(i)];
    const double scale = options.scale == nullptr ? 1.0 : options.scale[e];
    result.push_back({e, worth[static_cast<size_t>(e)] / sum * scale});
  }
  return result;
}

TEST_P(RouteTest, SigmoidsBiasesAndGroupsAreAsDefined) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  constexpr int64_t kExperts = 12, kRows = 40;
  const std::vector<float> bias = random_floats(kExperts, 5, 0.3f), scale = random_floats(kExperts, 6);
  Rows scores(kRows, kExperts, 3, 1.5f);
  for (const Gating gating : {Gating::kSoftmax, Gating::kSigmoid}) {
    for (const Shares shares : {Shares::kOfUsed, Shares::kOfAll}) {
      for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
        for (const auto& [groups, groups_used, best] :
             {std::array<int64_t, 3>{1, 1, 1}, {4, 2, 1}, {4, 2, 2}, {3, 1, 2}, {12, 5, 1}}) {
          const RouteOptions options{.gating = gating,
                                     .shares = shares,
                                     .scale = scale.data(),
                                     .bias = b,
                                     .groups = groups,
                                     .groups_used = groups_used,
                                     .group_best = best};
          if (best > 1 && gating == Gating::kSoftmax && b == nullptr) continue;  // scores themselves have no sum
          ops->begin_step();
          const Routes routes = ops->route(scores.tensor(kRows), 4, options);
          for (int64_t r = 0; r < kRows; ++r) {
            const auto want = chosen(scores.row(r), kExperts, 4, options);
            for (int64_t i = 0; i < 4; ++i) {
              const auto& [expert, weight] = want[static_cast<size_t>(i)];
              ASSERT_EQ(routes.expert[r * 4 + i], expert) << groups << " groups, row " << r << ", place " << i;
              ASSERT_NEAR(routes.weight[r * 4 + i], weight, 3e-7 * std::fabs(weight)) << groups << " groups, row " << r;
            }
          }
        }
      }
    }
  }
}

TEST_P(RouteTest, OfEqualGroupsTheFirstAreTaken) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  std::vector<float> scores = {0, 1, 0, 1, 1, 0, 1, 0};
  ops->begin_step();
  const Routes routes = ops->route({.data = scores.data(), .shape = {1, 8}}, 3, {.groups = 4, .groups_used = 2});
  EXPECT_EQ(experts_of(routes, 0), (std::vector<int32_t>{1, 3, 0}));
}

using ByHeadTest = OnMachine;

TEST_P(ByHeadTest, EachHeadHasItsOwnWeights) {
  for (Precision precision : {Precision::kDefault, Precision::kExact}) {
    const auto backend = GetParam().backend(precision);
    const auto ops = backend->make_ops();
    for (DType type : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0}) {
      for (const auto& [heads, in, out] : {std::array<int64_t, 3>{1, 64, 33}, {3, 32, 64}, {16, 96, 5}}) {
        std::vector<Weights> weights;
        std::vector<std::unique_ptr<Matrix>> matrices;
        std::vector<Linear> w;
        for (int64_t h = 0; h < heads; ++h) weights.emplace_back(type, out, in, static_cast<uint32_t>(h + 1));
        for (const Weights& one : weights) {
          matrices.push_back(backend->pack("head", one.view()));
          w.push_back({matrices.back().get(), nullptr});
        }
        for (int64_t rows : {1, 2, 7, 50}) {
          Rows x(rows, heads * in, 4);
          ops->begin_step();
          const Tensor y = ops->linear_by_head(w, Ops::split_heads(x.tensor(rows), heads));
          ASSERT_EQ(y.shape, (Shape{rows, heads, out}));
          for (int64_t h = 0; h < heads; ++h) {
            std::vector<float> inputs;
            for (int64_t r = 0; r < rows; ++r) inputs.insert(inputs.end(), x.row(r) + h * in, x.row(r) + (h + 1) * in);
            const Product expected(*matrices[static_cast<size_t>(h)], weights[static_cast<size_t>(h)], inputs.data(),
                                   rows, nullptr, false);
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t o = 0; o < out; ++o) {
                ASSERT_LE(std::fabs(y.row(r)[h * out + o] - expected.value(r, o)), expected.error(r, o))
                    << format_of(type).name << ", head " << h << " of " << heads << ", row " << r << " of " << rows;
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(ByHeadTest, NoRowsGiveNoRows) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Weights weights(DType::kQ8_0, 32, 64, 1);
  const auto matrix = backend->pack("head", weights.view());
  const std::vector<Linear> w(2, {matrix.get(), nullptr});
  Rows x(1, 128, 1);
  ops->begin_step();
  EXPECT_EQ(ops->linear_by_head(w, Ops::split_heads(x.tensor(0), 2)).shape, (Shape{0, 2, 32}));
}

TEST_P(ByHeadTest, ColumnsOfHeadsStandSideBySide) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (int64_t rows : {1, 3, 300}) {
    Rows a(rows, 3 * 7, 1), b(rows, 3 * 40, 2);
    ops->begin_step();
    const Tensor heads = Ops::split_heads(a.tensor(rows), 3), wide = Ops::split_heads(b.tensor(rows), 3);
    const Tensor y = ops->columns({{heads, 5, 2}, {wide, 0, 40}, {heads, 0, 1}});
    ASSERT_EQ(y.shape, (Shape{rows, 3, 43}));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t h = 0; h < 3; ++h) {
        for (int64_t i = 0; i < 43; ++i) {
          const float want = i < 2 ? a.row(r)[h * 7 + 5 + i] : i < 42 ? b.row(r)[h * 40 + i - 2] : a.row(r)[h * 7];
          ASSERT_EQ(y.row(r)[h * 43 + i], want) << "row " << r << ", head " << h << ", column " << i;
        }
      }
    }
    EXPECT_EQ(ops->columns({{a.tensor(rows), 20, 1}}).shape, (Shape{rows, 1}));
  }
}

struct Mixture {
  DType gate, up, down;
  int64_t in = 64, hidden = 96, out = 33;
  Activation act = Activation::kGelu;
  bool fine_down = false;
  bool biases = false;
  Precision precision = Precision::kDefault;
};

// Experts and, for every row, the list it goes to.
struct Assigned {
  int64_t experts, used;
  std::vector<int32_t> expert;  // [rows, used]
};

// Expert e gets counts[e] rows, one expert a row, in no order.
Assigned assigned_by_count(const std::vector<int64_t>& counts) {
  Assigned result{std::ssize(counts), 1, {}};
  for (int64_t e = 0; e < result.experts; ++e)
    result.expert.insert(result.expert.end(), static_cast<size_t>(counts[static_cast<size_t>(e)]),
                         static_cast<int32_t>(e));
  std::shuffle(result.expert.begin(), result.expert.end(), std::mt19937(3));
  return result;
}

// `used` different experts for every row.
Assigned assigned_at_random(int64_t experts, int64_t used, int64_t rows) {
  Assigned result{experts, used, {}};
  std::vector<int32_t> order(static_cast<size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(4);
  for (int64_t r = 0; r < rows; ++r) {
    std::shuffle(order.begin(), order.end(), random);
    result.expert.insert(result.expert.end(), order.begin(), order.begin() + used);
  }
  return result;
}

struct PackedExperts {
  PackedExperts(Backend& backend, const Mixture& m, int64_t count) {
    experts.activation = m.act;
    const auto add = [&](DType type, int64_t rows, int64_t columns, uint32_t seed, std::vector<Linear>& to) {
      weights.push_back(std::make_unique<Weights>(type, rows, columns, seed));
      matrices.push_back(backend.pack("expert", weights.back()->view()));
      biases.push_back(random_floats(rows, seed + 100));
      to.push_back({matrices.back().get(), bias_of(matrices.size() - 1, m.biases)});
    };
    for (int64_t e = 0; e < count; ++e) {
      const auto seed = static_cast<uint32_t>(3 * e);
      add(m.gate, m.hidden, m.in, seed + 1, experts.gate);
      add(m.up, m.hidden, m.in, seed + 2, experts.up);
      add(m.down, m.out, m.hidden, seed + 3, experts.down);
      experts.down.back().fine = m.fine_down;
    }
  }
  GatedProduct reference(int64_t e, const float* x, int64_t rows) const {
    const auto part = [&](size_t i, bool is_fine) {
      const size_t at = static_cast<size_t>(3 * e) + i;
      return GatedProduct::Part{*matrices[at], *weights[at], bias_of(at, experts.down[0].bias != nullptr), is_fine};
    };
    return {part(0, false), part(1, false), part(2, experts.down[0].fine), experts.activation, x, rows};
  }
  const float* bias_of(size_t matrix, bool any) const { return any ? biases[matrix].data() : nullptr; }

  std::vector<std::unique_ptr<Weights>> weights;
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<std::vector<float>> biases;
  Experts experts;
};

void compare_experts(const Machine& machine, const Mixture& m, const Assigned& assigned) {
  const auto backend = machine.backend(m.precision);
  const auto ops = backend->make_ops();
  const PackedExperts packed(*backend, m, assigned.experts);
  const auto rows = static_cast<int64_t>(assigned.expert.size()) / assigned.used;
  const std::vector<float> weight = random_floats(rows * assigned.used, 8);
  Rows x(rows, m.in, 7, 0.3f);
  const Rows before = x;
  ops->begin_step();
  const Routes routes{rows, assigned.used, assigned.expert.data(), weight.data()};
  const Tensor result = ops->experts_mlp(packed.experts, routes, x.tensor(rows));
  ASSERT_EQ(result.shape, (Shape{rows, m.out}));
  ASSERT_EQ(x.values, before.values);
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> sum(static_cast<size_t>(m.out)), error(sum.size());
    for (int64_t i = r * assigned.used; i < (r + 1) * assigned.used; ++i) {
      const GatedProduct one = packed.reference(assigned.expert[static_cast<size_t>(i)], x.row(r), 1);
      for (int64_t o = 0; o < m.out; ++o) {
        const double w = weight[static_cast<size_t>(i)];
        sum[static_cast<size_t>(o)] += w * one.value(0, o);
        // The sum itself is rounded once an expert.
        error[static_cast<size_t>(o)] += std::fabs(w) * (one.error(0, o) + 2e-7 * std::fabs(one.value(0, o)));
      }
    }
    for (int64_t o = 0; o < m.out; ++o) {
      const double want = sum[static_cast<size_t>(o)];
      ASSERT_NEAR(result.row(r)[o], want, error[static_cast<size_t>(o)] + 2e-7 * std::fabs(want))
          << fmt::format("{} {} {}, {} of {} experts, {} rows: row {}, output {}", format_of(m.gate).name,
                         format_of(m.up).name, format_of(m.down).name, assigned.used, assigned.experts, rows, r, o);
    }
  }
}

Assigned counted(const Machine& machine) {
  if (machine.emulated) return assigned_by_count({0, 1, 5, 0, 13});
  return assigned_by_count({0, 1, 2, 3, 4, 0, 5, 7, 13, 50});
}

TEST_P(ExpertsTest, AnExpertGetsAnyNumberOfRows) {
  for (DType type : {DType::kF32, DType::kF16, DType::kQ4_0, DType::kQ8_0}) {
    compare_experts(GetParam(), {.gate = type, .up = type, .down = type}, counted(GetParam()));
    if (HasFatalFailure()) return;
  }
  compare_experts(GetParam(),
                  {.gate = DType::kQ4_K, .up = DType::kQ4_K, .down = DType::kQ4_K, .in = 256, .hidden = 256},
                  counted(GetParam()));
}

TEST_P(ExpertsTest, FloatWeightsOfAwkwardSizes) {
  for (DType type : {DType::kF32, DType::kF16}) {
    for (const auto& [in, hidden, out] : {std::array<int64_t, 3>{33, 45, 7}, {1, 1, 1}, {40, 12, 40}}) {
      compare_experts(GetParam(), {.gate = type, .up = type, .down = type, .in = in, .hidden = hidden, .out = out},
                      counted(GetParam()));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ExpertsTest, ARowIsTheSumOfItsExpertsByTheirWeights) {
  for (DType type : {DType::kF16, DType::kQ4_0, DType::kQ8_0}) {
    for (const auto& [experts, used] : {std::pair<int64_t, int64_t>{6, 2}, {8, 8}, {1, 1}}) {
      for (int64_t rows : {1, 3, 25}) {
        if (GetParam().emulated && rows == 25) continue;
        compare_experts(GetParam(), {.gate = type, .up = type, .down = type}, assigned_at_random(experts, used, rows));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(ExpertsTest, FormatsThatDifferBothActivationsAndAFineWayBack) {
  const Assigned assigned = assigned_at_random(5, 2, 9);
  const DType q4 = DType::kQ4_0, q8 = DType::kQ8_0, f16 = DType::kF16;
  compare_experts(GetParam(), {.gate = q4, .up = q8, .down = q4, .act = Activation::kSilu}, assigned);
  compare_experts(GetParam(), {.gate = q4, .up = q4, .down = q8, .fine_down = true}, assigned);
  compare_experts(GetParam(), {.gate = q8, .up = q8, .down = f16}, assigned);
  compare_experts(GetParam(), {.gate = f16, .up = f16, .down = q8, .act = Activation::kSilu}, assigned);
}

TEST_P(ExpertsTest, BiasesAndClampedActivations) {
  const Assigned assigned = assigned_at_random(5, 2, 9);
  for (DType type : {DType::kF16, DType::kQ8_0, DType::kMXFP4}) {
    for (Precision precision : {Precision::kDefault, Precision::kExact}) {
      compare_experts(GetParam(),
                      {.gate = type,
                       .up = type,
                       .down = type,
                       .act = Activation::kClampedSilu,
                       .biases = true,
                       .precision = precision},
                      assigned);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ExpertsTest, ExactPrecisionRoundsNothing) {
  const Assigned assigned = assigned_at_random(5, 2, 9);
  for (DType type : {DType::kF16, DType::kQ4_0, DType::kQ8_0}) {
    compare_experts(GetParam(), {.gate = type, .up = type, .down = type, .precision = Precision::kExact}, assigned);
    if (HasFatalFailure()) return;
  }
  compare_experts(GetParam(),
                  {.gate = DType::kQ4_K,
                   .up = DType::kQ4_K,
                   .down = DType::kQ4_K,
                   .in = 256,
                   .hidden = 256,
                   .precision = Precision::kExact},
                  assigned);
}

TEST_P(ExpertsTest, TheSumMayBeAddedToRowsThatExist) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const PackedExperts packed(*backend, {.gate = DType::kQ4_0, .up = DType::kQ4_0, .down = DType::kQ8_0}, 5);
  const Assigned assigned = assigned_at_random(5, 2, 9);
  const std::vector<float> weight = random_floats(18, 8);
  const Routes routes{9, 2, assigned.expert.data(), weight.data()};
  Rows x(9, 64, 7), residual(9, 33, 9);
  const Rows before = residual;
  ops->begin_step();
  const Tensor sum = ops->experts_mlp(packed.experts, routes, x.tensor(9));
  const Tensor result = ops->experts_mlp(packed.experts, routes, x.tensor(9), {.add_to = residual.tensor(9)});
  EXPECT_EQ(result.data, residual.values.data());
  for (int64_t i = 0; i < 9 * 33; ++i) EXPECT_EQ(result.data[i], before.values[static_cast<size_t>(i)] + sum.data[i]);
}

TEST_P(ExpertsTest, NoRowsGiveNoRows) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const PackedExperts packed(*backend, {.gate = DType::kQ8_0, .up = DType::kQ8_0, .down = DType::kQ8_0}, 3);
  Rows x(1, 64, 1), scores(1, 3, 2);
  ops->begin_step();
  const Routes none = ops->route(scores.tensor(0), 2);
  EXPECT_EQ(none.rows, 0);
  EXPECT_EQ(ops->experts_mlp(packed.experts, none, x.tensor(0)).shape, (Shape{0, 33}));
}

INSTANTIATE_TEST_SUITE_P(Isa, RouteTest, testing::ValuesIn(every_machine()), machine_name);
INSTANTIATE_TEST_SUITE_P(Isa, ByHeadTest, testing::ValuesIn(every_machine()), machine_name);
INSTANTIATE_TEST_SUITE_P(Isa, ExpertsTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
