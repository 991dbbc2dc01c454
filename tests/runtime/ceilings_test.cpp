// What a step takes is counted by its own graph; with the machine's ceilings that is the least time it can take.
#include "ingle/ceilings.h"

#include <gtest/gtest.h>

#include "ingle/ingle.h"
#include "runtime/counting_ops.h"

namespace ingle {
namespace {

Ceilings ceilings() {
  Ceilings c;
  c.read_bytes_per_second = 100;
  c.int8 = {{4, 40}, {5, 20}, {8, 10}};
  c.f32_multiply_adds_per_second = 5;
  return c;
}

TEST(Ceilings, WeightsAreHeldAgainstTheNextKindThatHoldsThem) {
  const Ceilings c = ceilings();
  EXPECT_EQ(c.int8_multiply_adds_per_second(2), 40);
  EXPECT_EQ(c.int8_multiply_adds_per_second(4), 40);
  EXPECT_EQ(c.int8_multiply_adds_per_second(6), 10);
  EXPECT_EQ(Ceilings{}.int8_multiply_adds_per_second(8), 0);
  Ceilings one;
  one.int8 = {{8, 10}};
  EXPECT_EQ(one.int8_multiply_adds_per_second(4), 10);
}

TEST(Ceilings, TheHigherOfEachFigureCounts) {
  Ceilings a = ceilings(), b = ceilings();
  a.read_bytes_per_second = 120;
  b.int8[1].multiply_adds_per_second = 30;
  b.f32_multiply_adds_per_second = 4;
  const Ceilings most = higher(a, b);
  EXPECT_EQ(most.read_bytes_per_second, 120);
  EXPECT_EQ(most.int8[1].multiply_adds_per_second, 30);
  EXPECT_EQ(most.f32_multiply_adds_per_second, 5);
  EXPECT_FALSE(most.bf16_multiply_adds_per_second.has_value());
}

TEST(Floor, IsTheLongerOfComputingAndReading) {
  StepWork work;
  work.int8_multiply_adds[4] = 80;    // 2 s
  work.int8_multiply_adds[8] = 10;    // 1 s
  work.attention_multiply_adds = 15;  // 3 s
  work.weight_bytes = 500;
  work.cache_bytes = 50;
  EXPECT_DOUBLE_EQ(work.multiply_adds(), 105);
  EXPECT_DOUBLE_EQ(floor_seconds(work, ceilings()), 6);
  work.cache_bytes = 500;
  EXPECT_DOUBLE_EQ(floor_seconds(work, ceilings()), 10);
  EXPECT_EQ(floor_seconds(work, Ceilings{}), 0);
}

TEST(Floor, Bf16IsHeldAgainstItsOwnCeilingWhereThereIsOne) {
  StepWork work;
  work.attention_multiply_adds = 100;
  Ceilings c = ceilings();
  c.bf16_multiply_adds_per_second = 50;
  EXPECT_DOUBLE_EQ(floor_seconds(work, c), 2);
}

// A matrix that is only described, as a backend's would be.
Matrix matrix(DType type, int64_t rows, int64_t columns, int bits) {
  Matrix m;
  m.file_type = type;
  m.rows = rows;
  m.columns = columns;
  m.product_bits = bits;
  return m;
}

Tensor rows_of(int64_t rows, int64_t columns) {
  static float never_read = 0;
  return {&never_read, {rows, columns}, nullptr};
}

TEST(CountingOps, AMatrixIsReadOnceAStepAndMultipliedForEveryRow) {
  const Matrix m = matrix(DType::kQ4_0, 32, 64, 4);
  CountingOps ops;
  for (int step = 0; step < 2; ++step) {
    ops.begin_step();
    ops.linear({&m}, rows_of(3, 64), {});
    ops.linear({&m}, rows_of(2, 64), {});
    EXPECT_EQ(ops.work().int8_multiply_adds[4], 5 * 32 * 64);
    EXPECT_EQ(ops.work().weight_bytes, 32 * 64 / 32 * 18);
    EXPECT_EQ(ops.work().multiply_adds(), 5 * 32 * 64);
  }
}

TEST(CountingOps, FloatWeightsAreCountedApart) {
  const Matrix m = matrix(DType::kF16, 8, 16, 0);
  CountingOps ops;
  ops.begin_step();
  ops.linear({&m}, rows_of(2, 16), {});
  EXPECT_EQ(ops.work().float_multiply_adds, 2 * 8 * 16);
  EXPECT_EQ(ops.work().weight_bytes, 8 * 16 * 2);
}

TEST(CountingOps, AGatedBlockIsThreeProductsWhateverItsFormOfTheHiddenRows) {
  for (const double input_bytes : {0.0, 1.375}) {
    Matrix up = matrix(DType::kQ8_0, 64, 32, 8), down = matrix(DType::kQ8_0, 32, 64, 8);
    down.input_bytes = input_bytes;
    CountingOps ops;
    ops.begin_step();
    ops.gated_mlp({&up}, {&up}, {&down}, Activation::kSilu, rows_of(5, 32), {});
    EXPECT_EQ(ops.work().multiply_adds(), 3 * 5 * 32 * 64);
    EXPECT_EQ(ops.work().weight_bytes, 2 * 32 * 64 / 32 * 34);  // gate and up are the same matrix here
  }
}

TEST(CountingOps, ExpertsCountForTheRowsThatGoToThem) {
  const Matrix up = matrix(DType::kQ8_0, 64, 32, 8), down = matrix(DType::kQ8_0, 32, 64, 8);
  Experts experts;
  for (int i = 0; i < 8; ++i) {
    experts.gate.push_back({&up});
    experts.up.push_back({&up});
    experts.down.push_back({&down});
  }
  CountingOps ops;
  ops.begin_step();
  const Tensor x = rows_of(3, 32);
  ops.experts_mlp(experts, ops.route(rows_of(3, 8), 2, {}), x, {});
  EXPECT_DOUBLE_EQ(ops.work().multiply_adds(), 3 * 2 * 3 * 32 * 64);
  EXPECT_DOUBLE_EQ(ops.work().weight_bytes, 2 * 3 * (32 * 64 / 32 * 34));
}

TEST(CountingOps, AttentionSeesNoFurtherThanItsWindowAndASharedCacheIsReadOnce) {
  const std::vector<int32_t> rows = {0, 1, 2, 3}, positions = {10, 11, 12, 13};
  const std::vector<RowRun> runs = {{0, 0, 4}};
  const RowSet set{.rows = rows, .positions = positions, .tokens = {}, .runs = runs};
  KvLayer kv;
  kv.layout = {.kv_heads = 2, .k_dim = 8, .v_dim = 16, .k_bytes = 64 * 8 * 2, .v_bytes = 64 * 16 * 2};
  std::byte memory[1];
  kv.base = memory;
  const auto attend = [&](CountingOps& ops, int32_t window) {
    static float never_read = 0;
    ops.attention({&never_read, {4, 6, 8}, nullptr}, kv, set, {.window = window});
  };
  CountingOps ops;
  ops.begin_step();
  attend(ops, 0);
  EXPECT_EQ(ops.work().attention_multiply_adds, (11 + 12 + 13 + 14) * 6 * (8 + 16));
  EXPECT_EQ(ops.work().cache_bytes, 14 * 2 * (8 + 16) * 2);
  attend(ops, 0);  // another layer that reads the same cache
  EXPECT_EQ(ops.work().attention_multiply_adds, 2 * (11 + 12 + 13 + 14) * 6 * (8 + 16));
  EXPECT_EQ(ops.work().cache_bytes, 14 * 2 * (8 + 16) * 2);
  ops.begin_step();
  attend(ops, 4);
  EXPECT_EQ(ops.work().attention_multiply_adds, 4 * 4 * 6 * (8 + 16));
  EXPECT_EQ(ops.work().cache_bytes, 7 * 2 * (8 + 16) * 2);
}

// SmolLM2-135M: 30 layers of d 576, 9 heads of 64 on 3 cached ones, d_ff 1536; 49152 tokens.
class CountedSession : public testing::Test {
 protected:
  static constexpr double kKeysValues = 2.0 * 192 * 576, kRest = 2.0 * 576 * 576 + 3.0 * 576 * 1536;
  static constexpr double kOutput = 49152.0 * 576;

  std::vector<StepWork> steps_;
  Engine engine_{{.threads = 1, .isa = {}, .exact = false, .log = {}}};
  Model model_ = open_synthetic(engine_, {.shape = "smollm2-135m", .type = "q4_0"});
  SessionOptions options(int64_t micro_batch = 512) {
    SessionOptions options;
    options.micro_batch = micro_batch;
    options.cache_type_k = options.cache_type_v = "f16";  // two bytes a number and nothing else
    options.count_work = [this](const StepWork& work) { steps_.push_back(work); };
    return options;
  }
};

TEST_F(CountedSession, APromptLeavesOutTheRowsThatNobodyNeeds) {
  Session session(model_, options());
  const std::vector<TokenId> tokens(8, 5);
  const RunRequest run{session.create(), tokens, Want::kLast};
  int delivered = 0;
  session.evaluate({&run, 1}, [&](const ResultRow& row) {
    ++delivered;
    EXPECT_TRUE(row.logits.empty());
    EXPECT_EQ(row.position, 7);
  });
  EXPECT_EQ(delivered, 1);
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(steps_[0].rows, 8);
  EXPECT_DOUBLE_EQ(steps_[0].int8_multiply_adds[4], 29 * 8 * (kKeysValues + kRest) + 8 * kKeysValues + kRest + kOutput);
  EXPECT_DOUBLE_EQ(steps_[0].attention_multiply_adds, (29 * 36 + 8) * 9 * 128);
  EXPECT_EQ(steps_[0].float_multiply_adds, 0);
}

TEST_F(CountedSession, ATokenReadsEveryWeightAndWhatIsCached) {
  Session session(model_, options());
  const SequenceId id = session.create();
  const std::vector<TokenId> tokens(100, 5);
  const RunRequest prompt{id, tokens, Want::kNothing}, next{id, std::span(tokens).first(1), Want::kLast};
  session.evaluate({&prompt, 1}, {});
  session.evaluate({&next, 1}, [](const ResultRow&) {});
  ASSERT_EQ(steps_.size(), 2u);
  const double matrices = (30 * (kKeysValues + kRest) + kOutput) / 32 * 18;
  EXPECT_DOUBLE_EQ(steps_[1].weight_bytes, matrices + 576 / 32 * 18);  // and a row of the table
  EXPECT_DOUBLE_EQ(steps_[1].cache_bytes, 101.0 * 30 * 3 * 64 * 2 * 2);
  EXPECT_EQ(session.length(id), 101);
}

TEST_F(CountedSession, EveryMicroBatchIsAStep) {
  Session session(model_, options(6));
  const std::vector<TokenId> tokens(14, 5);
  const RunRequest run{session.create(), tokens, Want::kAll};
  session.evaluate({&run, 1}, [](const ResultRow&) {});
  ASSERT_EQ(steps_.size(), 3u);
  EXPECT_EQ(steps_[2].rows, 2);
  // Every row is wanted: nothing is left out.
  EXPECT_DOUBLE_EQ(steps_[2].int8_multiply_adds[4], 2 * (30 * (kKeysValues + kRest) + kOutput));
  EXPECT_DOUBLE_EQ(steps_[2].attention_multiply_adds, 30.0 * (13 + 14) * 9 * 128);
}

TEST(EngineCeilings, AreOfItsThreadsAndInstructionSet) {
  const std::string isa = Engine::isas().back();
  const Engine engine({.threads = 2, .isa = isa, .exact = false, .log = {}});
  const Ceilings c = engine.measure_ceilings({.seconds_each = 1e-4, .read_bytes = 1 << 20});
  EXPECT_EQ(c.isa, isa);
  EXPECT_EQ(c.threads, 2);
  EXPECT_GT(c.read_bytes_per_second, 0);
  EXPECT_GT(c.f32_multiply_adds_per_second, 0);
  ASSERT_FALSE(c.int8.empty());
  EXPECT_GT(c.int8_multiply_adds_per_second(4), 0);
  EXPECT_EQ(engine.measure_ceilings({.seconds_each = 1e-4, .read_bytes = 0}).read_bytes_per_second, 0);
}

TEST(Machine, WhatIsAvailableIsNoMoreThanThereIs) {
  const MachineInfo machine = Engine::machine();
  EXPECT_LE(machine.available_bytes, machine.memory_bytes);
  if (machine.memory_limit_bytes > 0) {
    EXPECT_LE(machine.available_bytes, machine.memory_limit_bytes);
  }
  EXPECT_GE(machine.processor_limit, 0);
}

}  // namespace
}  // namespace ingle
