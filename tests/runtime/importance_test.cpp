// What comes into every matrix of a model: the sums that transformers gives for golden models
// (scripts/make_imatrix_golden.py), and the file they are kept in.
#include "ingle/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "ingle/engine.h"
#include "runtime/input_sums.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

class ImportanceOfGolden : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Runtime, ImportanceOfGolden,
                         testing::Values("llama_tied", "gemma2_tiny", "phi3_short", "qwen3moe_tiny", "gptoss_tiny"));

TEST_P(ImportanceOfGolden, SumsAreThoseOfTransformers) {
  const golden::Golden golden = golden::load(GetParam());
  const std::vector<TokenId>& prompt = golden.prompts[0].tokens;
  Engine engine({.threads = 2, .exact = true});
  const Model model = Model::open(engine, golden.file());
  ImportanceCollector collector(model,
                                {.window = static_cast<int64_t>(prompt.size()), .micro_batch = 32, .output = true});
  collector.read(prompt);
  const test::TemporaryFolder folder;
  collector.write(folder / "imatrix.gguf", "prompt");
  const InputSums sums = InputSums::open(folder / "imatrix.gguf");

  const boost::json::value all =
      boost::json::parse(golden::read_file(INGLE_SOURCE_DIR "/tests/runtime/data/imatrix_golden.json"));
  const boost::json::object& expected = all.at(GetParam()).as_object();
  EXPECT_EQ(sums.entries.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(sums.entries.contains(name)) << name;
    const InputSums::Entry& entry = sums.entries.at(name);
    EXPECT_EQ(entry.rows, boost::json::value_to<std::vector<double>>(tensor.at("rows"))) << name;
    const auto squares = boost::json::value_to<std::vector<double>>(tensor.at("squares"));
    ASSERT_EQ(entry.squares.size(), squares.size()) << name;
    for (size_t i = 0; i < squares.size(); ++i)
      EXPECT_NEAR(entry.squares[i], squares[i], 1e-4 * squares[i] + 1e-6) << name << " " << i;
  }
}

class ImportanceFile : public testing::Test {
 protected:
  ImportanceCollector collect(std::initializer_list<size_t> prompts) {
    ImportanceCollector collector(model_, {.window = 128});
    for (const size_t prompt : prompts) collector.read(golden_.prompts[prompt].tokens);
    return collector;
  }
  std::string complaint(const std::filesystem::path& path) {
    try {
      collect({}).add(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const golden::Golden golden_ = golden::load("qwen3moe_tiny");
  Engine engine_{{.threads = 2}};
  const Model model_ = Model::open(engine_, golden_.file());
  test::TemporaryFolder folder_;
};

TEST_F(ImportanceFile, DoesNotReplaceTheModel) {
  const std::filesystem::path copy = folder_ / "model.gguf";
  std::filesystem::copy_file(golden_.file(), copy);
  const Model model = Model::open(engine_, copy);
  ImportanceCollector collector(model, {.window = 128});
  collector.read(golden_.prompts[0].tokens);
  test::expect_error([&] { collector.write(copy, "text"); }, ErrorCode::kInvalidArgument,
                     "model.gguf: is a file to read, it cannot be the one to write");
  EXPECT_TRUE(test::read_bytes(copy) == test::read_bytes(golden_.file()));
}

TEST_F(ImportanceFile, AddingAnEarlierFileIsReadingBothTexts) {
  collect({0}).write(folder_ / "first.gguf", "first");
  ImportanceCollector second = collect({1});
  second.add(folder_ / "first.gguf");
  second.write(folder_ / "added.gguf", "second");
  collect({0, 1}).write(folder_ / "both.gguf", "both");
  const InputSums added = InputSums::open(folder_ / "added.gguf"), both = InputSums::open(folder_ / "both.gguf");
  EXPECT_THAT(added.texts, testing::ElementsAre("first", "second"));
  EXPECT_EQ(added.windows, 2);
  EXPECT_EQ(added.window, 128);
  ASSERT_EQ(added.entries.size(), both.entries.size());
  for (const auto& [name, entry] : both.entries) {
    EXPECT_EQ(added.entries.at(name).rows, entry.rows) << name;
    for (size_t i = 0; i < entry.squares.size(); ++i)
      EXPECT_NEAR(added.entries.at(name).squares[i], entry.squares[i], 1e-6 * entry.squares[i]) << name << " " << i;
  }
}

TEST_F(ImportanceFile, ExpertsCountTheirOwnRows) {
  const ImportanceCollector collector = collect({1});  // nine tokens, three of seven experts each
  for (const TensorImportance& tensor : collector.tensors()) {
    if (!tensor.name.ends_with("_exps.weight")) {
      EXPECT_EQ(tensor.most_rows, 9) << tensor.name;
      continue;
    }
    EXPECT_EQ(tensor.matrices, 7) << tensor.name;
    EXPECT_LE(tensor.most_rows, 9) << tensor.name;
    EXPECT_LT(tensor.least_rows, tensor.most_rows) << tensor.name;
  }
}

TEST_F(ImportanceFile, TheOutputMatrixIsMeasuredOnRequestOnly) {
  const auto names = [](const ImportanceCollector& collector) {
    std::vector<std::string> all;
    for (const TensorImportance& tensor : collector.tensors()) all.push_back(tensor.name);
    return all;
  };
  EXPECT_THAT(names(collect({1})), testing::Not(testing::Contains("output.weight")));
  ImportanceCollector with(model_, {.window = 128, .output = true});
  with.read(golden_.prompts[1].tokens);
  EXPECT_THAT(names(with), testing::Contains("output.weight"));
}

TEST_F(ImportanceFile, WhatWasCancelledCountsForNothing) {
  bool cancelled = false;
  ImportanceCollector collector(model_, {.window = 128, .cancelled = [&] { return cancelled; }});
  collector.read(golden_.prompts[1].tokens);
  cancelled = true;
  EXPECT_THROW(collector.read(golden_.prompts[0].tokens), Error);
  EXPECT_EQ(collector.windows(), 1);
  EXPECT_EQ(collector.tensors().front().most_rows, 9);
}

TEST_F(ImportanceFile, OneOfAnotherModelIsRefused) {
  const golden::Golden other = golden::load("llama_tied");
  const Model llama = Model::open(engine_, other.file());
  ImportanceCollector collector(llama, {.window = 128});
  collector.read(other.prompts[1].tokens);
  collector.write(folder_ / "llama.gguf", "prompt");
  EXPECT_THAT(complaint(folder_ / "llama.gguf"), testing::HasSubstr("blk.0.ffn_down.weight with 1 matrices of 56"));
  EXPECT_THAT(complaint(golden_.file()), testing::HasSubstr("not a file of importance"));
}

}  // namespace
}  // namespace ingle
