// Random weights: numbers of the asked size, the same bytes for the same seed however they are made; and whole models
// of them, in memory and as files.
#include "ingle/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "gguf/gguf.h"
#include "ingle/ingle.h"
#include "runtime/random_weights.h"
#include "runtime/synthetic.h"
#include "tests/expect_error.h"

namespace ingle {
namespace {

using test::error_of;

constexpr int64_t kColumns = 1024, kRows = 64;

std::vector<std::byte> rows_of(const Format& format, uint64_t seed = 1, std::string_view name = "blk.0.attn_q.weight",
                               RandomTensor::Spread spread = {0, 0.0375}) {
  std::vector<std::byte> bytes(format.row_bytes(kColumns) * kRows);
  RandomTensor(seed, name, format, kColumns, spread).fill(0, kRows, bytes.data());
  return bytes;
}

std::vector<float> decoded(const Format& format, const std::vector<std::byte>& bytes) {
  std::vector<float> numbers(kColumns * kRows);
  format.decode(bytes.data(), numbers.data(), kColumns * kRows);
  return numbers;
}

uint64_t checksum(const std::vector<std::byte>& bytes) {
  uint64_t sum = 0;
  for (const std::byte b : bytes) sum = sum * 31 + static_cast<uint64_t>(b);
  return sum;
}

class RandomFormat : public testing::TestWithParam<std::string> {
 protected:
  const Format& format() const { return *find_format(GetParam()); }
};

TEST_P(RandomFormat, NumbersAreFiniteAroundZeroAndOfTheAskedDeviation) {
  double sum = 0, squares = 0;
  for (const float x : decoded(format(), rows_of(format()))) {
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  const double count = static_cast<double>(kColumns * kRows);
  EXPECT_NEAR(std::sqrt(squares / count), 0.0375, 0.05 * 0.0375);
  // A mean that stands out of a row would make one direction grow from layer to layer.
  EXPECT_LT(std::abs(sum / count), 0.03 * 0.0375);
}

TEST_P(RandomFormat, ARowIsTheSameWhoeverAsksForIt) {
  const std::vector<std::byte> all = rows_of(format());
  const size_t row_bytes = format().row_bytes(kColumns);
  std::vector<std::byte> some(3 * row_bytes);
  RandomTensor(1, "blk.0.attn_q.weight", format(), kColumns, {0, 0.0375}).fill(40, 3, some.data());
  EXPECT_EQ(std::memcmp(some.data(), all.data() + 40 * row_bytes, some.size()), 0);
}

TEST_P(RandomFormat, SeedsNamesAndRowsDiffer) {
  const std::vector<std::byte> all = rows_of(format());
  const size_t row_bytes = format().row_bytes(kColumns);
  EXPECT_NE(all, rows_of(format(), 2));
  EXPECT_NE(all, rows_of(format(), 1, "blk.1.attn_q.weight"));
  std::set<std::string> rows;
  for (size_t r = 0; r < kRows; ++r) rows.emplace(reinterpret_cast<const char*>(&all[r * row_bytes]), row_bytes);
  EXPECT_EQ(rows.size(), static_cast<size_t>(kRows));
}

std::vector<std::string> types_of_one_format() {
  std::vector<std::string> types = synthetic_types();
  std::erase_if(types, [](const std::string& type) { return find_format(type) == nullptr; });
  return types;
}

INSTANTIATE_TEST_SUITE_P(All, RandomFormat, testing::ValuesIn(types_of_one_format()),
                         [](const auto& test) { return test.param; });

TEST(RandomWeights, AreTheSameOnEveryMachine) {
  const std::pair<const char*, uint64_t> known[] = {{"q4_0", 16039245237177989892u}, {"q8_0", 5238063576521157019u},
                                                    {"q4_k", 2284184429797492231u},  {"q6_k", 8371504997198823124u},
                                                    {"f16", 13475299213158495755u},  {"f32", 12912281916976580691u},
                                                    {"mxfp4", 16488894081962451727u}};
  for (const auto& [name, sum] : known) EXPECT_EQ(checksum(rows_of(*find_format(name))), sum) << name;
}

TEST(RandomWeights, GainsHaveTheirMean) {
  const Format& format = *find_format(DType::kF32);
  double sum = 0;
  for (const float x : decoded(format, rows_of(format, 1, "norm", {0.5, 0.1}))) {
    EXPECT_GT(x, 0.5 - 0.1 * 1.8);
    EXPECT_LT(x, 0.5 + 0.1 * 1.8);
    sum += x;
  }
  EXPECT_NEAR(sum / static_cast<double>(kColumns * kRows), 0.5, 0.002);
}

TEST(RandomWeights, EightBitCodesAreThoseThatQuantisersWrite) {
  const Format& format = *find_format(DType::kQ8_0);
  const std::vector<std::byte> bytes = rows_of(format);
  for (size_t block = 0; block < bytes.size(); block += format.block_bytes)
    for (size_t i = 2; i < format.block_bytes; ++i) EXPECT_NE(bytes[block + i], std::byte{0x80});
}

TEST(Synthetic, AFileDoesNotDependOnTheNumberOfThreads) {
  const SyntheticOptions options{.shape = "smollm2-135m", .type = "q4_k"};
  const GgufFile one = make_synthetic_file(options, SyntheticContents::kWeights, 1);
  const GgufFile three = make_synthetic_file(options, SyntheticContents::kWeights, 3);
  for (const char* name : {"token_embd.weight", "blk.3.ffn_down.weight", "blk.29.attn_norm.weight"}) {
    const ConstTensorView a = *one.find(name), b = *three.find(name);
    EXPECT_EQ(std::memcmp(a.data, b.data, a.bytes()), 0) << name;
  }
}

class SyntheticModel : public testing::Test {
 protected:
  ~SyntheticModel() override { std::filesystem::remove(path_); }

  std::vector<float> logits(const Model& model) {
    Session session(model, {.context = 64});
    const std::vector<TokenId> tokens = model.tokenize("w12 w300");
    const RunRequest run{session.create(), tokens};
    std::vector<float> logits;
    session.evaluate({&run, 1}, [&](const ResultRow& row) { logits.assign(row.logits.begin(), row.logits.end()); });
    return logits;
  }

  Engine engine_{{.threads = 2, .isa = {}, .exact = false, .log = {}}};
  const std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("synthetic_") + testing::UnitTest::GetInstance()->current_test_info()->name() + ".gguf");
};

TEST_F(SyntheticModel, InMemoryAndInAFileIsTheSameModel) {
  const SyntheticOptions options{.shape = "smollm2-135m"};
  const uint64_t bytes = write_synthetic(path_, options);
  EXPECT_EQ(bytes, std::filesystem::file_size(path_));
  const Model from_file = Model::open(engine_, path_), from_memory = open_synthetic(engine_, options);
  EXPECT_EQ(from_memory.info().parameters, 134515008);
  EXPECT_EQ(from_memory.info().file_type, "Q4_0");
  EXPECT_EQ(from_memory.tokenize("w12 w300"), (std::vector<TokenId>{1, 367, 655}));
  EXPECT_EQ(from_memory.detokenize(from_memory.tokenize("w12 Hé")), "w12 Hé");
  const std::vector<float> a = logits(from_file), b = logits(from_memory);
  ASSERT_EQ(a.size(), 49152u);
  EXPECT_EQ(a, b);
  double squares = 0;
  for (const float x : a) squares += static_cast<double>(x) * x;
  // Neither dead nor exploded.
  EXPECT_GT(std::sqrt(squares / static_cast<double>(a.size())), 0.3);
  EXPECT_LT(std::sqrt(squares / static_cast<double>(a.size())), 5);
}

TEST_F(SyntheticModel, AMixOfTypesIsNamedLikeTheFilesOfOthers) {
  const FileInfo info = inspect_synthetic({.shape = "llama-1b", .type = "Q4_K_M"});
  const auto type =
      std::ranges::find_if(info.metadata, [](const MetadataEntry& e) { return e.key == "general.file_type"; });
  ASSERT_NE(type, info.metadata.end());
  EXPECT_EQ(type->value, "15");  // "mostly Q4_K, medium"
  EXPECT_GT(synthetic_bytes({.shape = "llama-1b", .type = "q4_k_m"}),
            synthetic_bytes({.shape = "llama-1b", .type = "q4_k"}));
}

TEST_F(SyntheticModel, ACancelledFileIsNotThere) {
  const std::string message = error_of(ErrorCode::kCancelled, [&] {
    write_synthetic(path_, {.shape = "smollm2-135m"}, [](double fraction) { return fraction < 0.5; });
  });
  EXPECT_NE(message.find("cancelled"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_));
  for (const auto& entry : std::filesystem::directory_iterator(path_.parent_path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("synthetic_ACancelled")) << entry.path();
}

TEST_F(SyntheticModel, ProgressReachesTheEnd) {
  double last = 0;
  write_synthetic(path_, {.shape = "smollm2-135m"}, [&](double fraction) {
    EXPECT_GE(fraction, last);
    last = fraction;
    return true;
  });
  EXPECT_EQ(last, 1.0);
}

TEST_F(SyntheticModel, LoadingCanBeCancelled) {
  error_of(ErrorCode::kCancelled, [&] {
    open_synthetic(engine_, {.shape = "smollm2-135m"},
                   {.vocabulary_only = false, .progress = [](double) { return false; }});
    ADD_FAILURE() << "not cancelled";
  });
}

TEST_F(SyntheticModel, WhatIsUnknownIsAnsweredWithWhatIsKnown) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { open_synthetic(engine_, {.shape = "smollm"}); }).substr(0, 52),
            "there is no shape 'smollm'; known are smollm2-135m, ");
  const std::string types = error_of(ErrorCode::kInvalidArgument,
                                     [&] { write_synthetic(path_, {.shape = "smollm2-135m", .type = "nvfp4"}); });
  EXPECT_NE(types.find("'nvfp4' cannot be made; known are f32, f16, q4_0"), std::string::npos) << types;
  error_of(ErrorCode::kInvalidArgument, [&] { open_synthetic(engine_, {.shape = "smollm2-135m", .type = "q8_k"}); });
}

TEST_F(SyntheticModel, EveryShapeIsOneThatTheModelsAccept) {
  for (const SyntheticShape& shape : synthetic_shapes()) {
    const std::vector<MemoryUse> plan = plan_synthetic(engine_, {.shape = shape.name}, {.context = 1024});
    ASSERT_EQ(plan.front().owner, "weights");
    EXPECT_GT(plan.front().bytes, 0u) << shape.name;
    const FileInfo info = inspect_synthetic({.shape = shape.name});
    EXPECT_EQ(info.parameters, shape.parameters);
    EXPECT_GE(info.file_bytes, synthetic_bytes({.shape = shape.name}));
  }
}

TEST_F(SyntheticModel, MoreThanTheMachineHasIsRefusedAtOnce) {
  const SyntheticOptions options{.shape = "gemma4-31b", .type = "f32"};
  if (synthetic_bytes(options) <= Engine::machine().memory_bytes) GTEST_SKIP() << "this machine has room for it";
  const std::string message = error_of(ErrorCode::kOutOfMemory, [&] { open_synthetic(engine_, options); });
  EXPECT_NE(message.find("gemma4-31b: its weights take 122"), std::string::npos) << message;
}

}  // namespace
}  // namespace ingle
