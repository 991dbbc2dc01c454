// The cache and attention over it: every cache type, awkward head sizes and groups, several sequences in one step,
// windows, soft caps, rows left out. Cache memory starts as bytes 0xff, which read as NaN in every type: what was never
// written must never count.
#include <fmt/format.h>

#include "ingle/error.h"
#include "tests/conformance/cache.h"
#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using AttentionTest = OnMachine;

struct Case {
  DType k_type = DType::kF16, v_type = DType::kF16;
  int64_t kv_heads = 2, group = 1, k_dim = 64, v_dim = 64;
  AttentionOptions options = {.scale = 0.125f};
  std::vector<SequenceRows> runs = {{0, 5}};  // what was there, and what comes
  std::vector<int32_t> kept = {};             // rows of the step that attend; empty: all
  bool whole = false;                         // they see all of their sequences
};

std::string describe(const Case& c) {
  std::string text = fmt::format("k {} v {}, {} heads x {}, k_dim {}, v_dim {}, window {}, cap {}, runs",
                                 format_of(c.k_type).name, format_of(c.v_type).name, c.kv_heads, c.group, c.k_dim,
                                 c.v_dim, c.options.window, c.options.soft_cap);
  for (const SequenceRows& run : c.runs) text += fmt::format(" {}+{}", run.before, run.rows);
  return text;
}

void compare_attention(const Machine& machine, const Case& c) {
  const auto backend = machine.backend();
  const auto ops = backend->make_ops();
  Cache cache(backend->kv_layout(c.k_type, c.v_type, c.kv_heads, c.k_dim, c.v_dim), c.runs);
  ops->begin_step();
  const Step step = cache.fill(*ops, 7);
  if (c.options.window > 0) cache.drop_passed(c.options.window);
  const int64_t heads = c.kv_heads * c.group;
  Rows all(step.set().size(), heads * c.k_dim, 11);
  const Step kept = c.kept.empty() ? step : step.only(c.kept);
  Tensor q = all.tensor(step.set().size());
  if (!c.kept.empty()) q = ops->gather_rows(q, kept.rows);
  const RowSet everything = step.set();
  AttentionOptions options = c.options;
  if (c.whole) options.whole = &everything;
  const Tensor result = ops->attention(Ops::split_heads(q, heads), cache.layer(), kept.set(), options);
  ASSERT_EQ(result.rows(), kept.set().size());
  ASSERT_EQ(result.row_size(), heads * c.v_dim);

  for (const RowRun& run : kept.runs) {
    for (int64_t r = run.first_row; r < run.first_row + run.rows; ++r) {
      for (int64_t h = 0; h < heads; ++h) {
        const History& history = cache.history(run.slot, h / c.group);
        // What a row sees is all there is up to its position, or up to the last one.
        const auto position =
            c.whole ? static_cast<int32_t>(everything.end_of(run.slot)) - 1 : kept.positions[static_cast<size_t>(r)];
        const Attended expected(q.row(r) + h * c.k_dim, h, history, position, c.options);
        for (int64_t d = 0; d < c.v_dim; ++d) {
          const double got = result.row(r)[h * c.v_dim + d], want = expected.value[static_cast<size_t>(d)];
          ASSERT_LE(std::fabs(got - want), expected.error[static_cast<size_t>(d)])
              << describe(c) << ": row " << r << " at " << position << ", head " << h << ", channel " << d << ": "
              << got << ", not " << want;
        }
      }
    }
  }
}

constexpr DType kCacheTypes[] = {DType::kF32, DType::kF16, DType::kI16, DType::kQ8_0, DType::kQ4_0};

TEST_P(AttentionTest, EveryPairOfCacheTypes) {
  for (DType k : kCacheTypes) {
    for (DType v : kCacheTypes) {
      compare_attention(GetParam(), {.k_type = k, .v_type = v, .group = 3, .runs = {{70, 9}, {130, 1}}});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, AwkwardHeadSizes) {
  for (DType type : kCacheTypes) {
    for (int64_t dim : {15, 16, 20, 24, 64, 80, 96, 128, 192, 256, 512}) {
      for (int64_t v_dim : {dim, int64_t{64}, int64_t{20}}) {
        if (GetParam().emulated && v_dim == 64) continue;
        compare_attention(
            GetParam(),
            {.k_type = type, .v_type = type, .group = 3, .k_dim = dim, .v_dim = v_dim, .runs = {{60, 7}, {3, 2}}});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(AttentionTest, GroupsOfAnySize) {
  for (int64_t group : {1, 2, 3, 4, 5, 6, 7, 8, 13, 32, 71, 97, 128}) {
    for (DType type : {DType::kF16, DType::kI16}) {
      compare_attention(GetParam(), {.k_type = type,
                                     .v_type = type,
                                     .kv_heads = 1,
                                     .group = group,
                                     .k_dim = 24,
                                     .v_dim = 32,
                                     .runs = {{66, 3}, {0, 1}}});
      compare_attention(GetParam(),
                        {.k_type = type, .v_type = type, .group = group, .k_dim = 16, .v_dim = 16, .runs = {{1, 40}}});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, SequencesOfDifferentLengthsInOneStep) {
  const std::vector<SequenceRows> runs = {{0, 1},   {63, 1},  {64, 1},   {255, 2}, {256, 4},
                                          {511, 1}, {0, 130}, {300, 40}, {62, 5}};
  for (const auto& [type, group] :
       {std::pair{DType::kF16, 2}, {DType::kQ8_0, 8}, {DType::kQ4_0, 3}, {DType::kI16, 3}}) {
    compare_attention(GetParam(),
                      {.k_type = type, .v_type = type, .group = group, .k_dim = 32, .v_dim = 32, .runs = runs});
    if (HasFatalFailure()) return;
  }
}

// Every row sees all of its sequence, also when few of its rows ask.
TEST_P(AttentionTest, WholeSequences) {
  for (const std::vector<int32_t>& kept : {std::vector<int32_t>{}, {0, 1, 66, 131, 132, 482}}) {
    for (const auto& [type, group] :
         {std::pair{DType::kF32, 1}, {DType::kF16, 3}, {DType::kI16, 2}, {DType::kQ8_0, 3}}) {
      compare_attention(GetParam(), {.k_type = type,
                                     .v_type = type,
                                     .group = group,
                                     .k_dim = 20,
                                     .v_dim = 24,
                                     .runs = {{0, 1}, {0, 65}, {0, 3}, {0, 64}, {0, 350}},
                                     .kept = kept,
                                     .whole = true});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, WindowsWhosePassedBlocksAreGone) {
  for (int32_t window : {1, 7, 64, 300}) {
    for (DType type : {DType::kF16, DType::kQ8_0, DType::kQ4_0, DType::kI16}) {
      compare_attention(GetParam(), {.k_type = type,
                                     .v_type = type,
                                     .group = 3,
                                     .k_dim = 16,
                                     .v_dim = 32,
                                     .options = {.scale = 0.25f, .window = window},
                                     .runs = {{0, 5}, {63, 1}, {64, 3}, {400, 2}, {500, 100}, {700, 1}}});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, SoftCap) {
  for (float cap : {0.05f, 2.0f, 30.0f}) {  // squashes everything, bends, hardly shows
    for (DType type : {DType::kF16, DType::kI16}) {
      compare_attention(GetParam(), {.k_type = type,
                                     .v_type = type,
                                     .group = 2,
                                     .options = {.scale = 0.5f, .soft_cap = cap},
                                     .runs = {{80, 6}, {5, 1}}});
      if (HasFatalFailure()) return;
    }
  }
}

// Heads of both signs of slope; spans and windows in which the nearest keys are not the first.
TEST_P(AttentionTest, ScoresThatFallWithDistance) {
  const float slopes[] = {0.5f, 0.0078125f, -0.03f, 0.0f, 0.25f, 1.0f};
  for (DType type : {DType::kF16, DType::kI16}) {
    for (const AttentionOptions& options : {AttentionOptions{.scale = 0.2f, .slopes = slopes},
                                            {.scale = 0.2f, .window = 70, .soft_cap = 2.0f, .slopes = slopes}}) {
      compare_attention(GetParam(), {.k_type = type,
                                     .v_type = type,
                                     .group = 3,
                                     .k_dim = 32,
                                     .v_dim = 32,
                                     .options = options,
                                     .runs = {{0, 9}, {300, 2}, {250, 40}}});
      if (HasFatalFailure()) return;
    }
  }
}

// One that takes nearly all, one of the scores' size, one that is not felt, and one no power of two can say.
TEST_P(AttentionTest, ASinkTakesItsShareAndGivesNothing) {
  const float sinks[] = {9.0f, 0.5f, -20.0f, 1.0f, 150.0f, -150.0f};
  for (DType type : {DType::kF16, DType::kI16}) {
    for (int32_t window : {0, 70}) {
      compare_attention(GetParam(), {.k_type = type,
                                     .v_type = type,
                                     .group = 3,
                                     .k_dim = 32,
                                     .v_dim = 32,
                                     .options = {.scale = 0.2f, .window = window, .sinks = sinks},
                                     .runs = {{0, 9}, {300, 2}, {250, 40}}});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, OnlyTheRowsThatAreAskedFor) {
  compare_attention(GetParam(),
                    {.group = 3, .k_dim = 32, .runs = {{10, 30}, {70, 5}, {0, 9}, {300, 1}}, .kept = {29, 34, 40, 44}});
  compare_attention(GetParam(),
                    {.group = 3, .k_dim = 32, .runs = {{10, 30}, {70, 5}}, .kept = {0, 1, 2, 3, 4, 17, 29}});
  compare_attention(GetParam(),
                    {.k_dim = 32, .options = {.scale = 0.2f, .window = 7}, .runs = {{90, 200}}, .kept = {3, 199}});
}

// The blocks behind the cache's window are gone, and nothing is read where they were.
TEST_P(AttentionTest, AWiderWindowThanThatOfTheCacheIsNoticed) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  Cache cache(backend->kv_layout(DType::kF16, DType::kF16, 1, 16, 16), {{0, 2}, {200, 2}});
  ops->begin_step();
  const Step step = cache.fill(*ops, 7);
  cache.drop_passed(70);
  Rows rows(4, 32, 11);
  const Tensor q = Ops::split_heads(rows.tensor(4), 2);
  ops->attention(q, cache.layer(), step.set(), {.window = 70});
  for (const int32_t window : {0, 140})
    EXPECT_THROW(ops->attention(q, cache.layer(), step.set(), {.window = window}), Error) << window;
}

TEST_P(AttentionTest, NoRowsGiveNoRows) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  const Cache cache(backend->kv_layout(DType::kF16, DType::kF16, 1, 16, 16), {{0, 1}});
  ops->begin_step();
  const Tensor q{.data = nullptr, .shape = {0, 2, 16}};
  const Tensor result = ops->attention(q, cache.layer(), RowSet{}, {});
  EXPECT_EQ(result.rows(), 0);
  EXPECT_EQ(result.row_size(), 32);
}

TEST_P(AttentionTest, ACacheTypeWithoutKernelsIsRefusedByName) {
  const auto backend = GetParam().backend();
  try {
    backend->kv_layout(DType::kQ6_K, DType::kF16, 1, 256, 256);
    FAIL() << "Q6_K was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("Q6_K"), std::string::npos) << error.what();
  }
}

// A broken key or value is seen in the rows that look at it. Earlier rows of its sequence are spared, but for those
// that are computed together with it (a few): their weight of 0 meets the value.
TEST_P(AttentionTest, ANanThatIsVisibleIsSeen) {
  for (DType type : kCacheTypes) {
    for (bool in_key : {true, false}) {
      const auto backend = GetParam().backend();
      const auto ops = backend->make_ops();
      Cache cache(backend->kv_layout(type, type, 1, 32, 32), {{0, 90}});
      const KvLayer layer = cache.layer();
      Step step;
      step.add_run(0, 0, 90);
      Rows k(90, 32, 1), v(90, 32, 2), q(90, 64, 3);
      (in_key ? k : v).values[70 * 32 + 5] = NAN;
      ops->begin_step();
      ops->append(layer, Ops::split_heads(k.tensor(90), 1), Ops::split_heads(v.tensor(90), 1), step.set());
      const Tensor result = ops->attention(Ops::split_heads(q.tensor(90), 2), layer, step.set(), {.scale = 0.2f});
      for (int64_t r = 0; r < 90; ++r) {
        if (r >= 64 && r < 70) continue;
        EXPECT_EQ(std::isnan(result.row(r)[5]), r >= 70)
            << format_of(type).name << (in_key ? " key" : " value") << ", row " << r;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, AttentionTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
