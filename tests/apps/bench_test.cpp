// What ingle bench measures: sizes that differ with the same sum, names, and the rows and tokens of each kind of test.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include <boost/json.hpp>

#include "apps/ingle/bench/measure.h"
#include "apps/ingle/bench/report.h"
#include "ingle/ingle.h"

namespace ingle::app {
namespace {

TEST(BenchTest, NamesSayWhatIsMeasured) {
  EXPECT_EQ((BenchTest{.prompt = 512}).name(), "pp512");
  EXPECT_EQ((BenchTest{.generate = 128, .sequences = 4}).name(), "tg128 x4");
  EXPECT_EQ((BenchTest{.prompt = 512, .generate = 16, .depth = 64}).name(), "pp512+tg16 @ d64");
  EXPECT_EQ((BenchTest{.prompt = 512, .depth = 64, .sequences = 2, .ragged = true}).name(), "pp~512 x2 @ d~64");
  EXPECT_EQ((BenchTest{.prompt = 512, .sequences = 4, .mixed = true}).name(), "pp512 x4 with tg x4");
}

TEST(BenchTest, RaggedSizesHaveTheSameSumAndStayWithinHalfOfTheSize) {
  for (const int64_t count : {1, 2, 5, 16})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<int64_t> sizes = spread_sizes(101, count, true, seed);
      EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), 101 * count);
      EXPECT_GE(*std::ranges::min_element(sizes), 50);
      EXPECT_LE(*std::ranges::max_element(sizes), 152);
      EXPECT_EQ(sizes, spread_sizes(101, count, true, seed));
    }
  EXPECT_NE(spread_sizes(101, 16, true, 1), spread_sizes(101, 16, true, 2));
  EXPECT_EQ(spread_sizes(101, 3, false, 1), (std::vector<int64_t>{101, 101, 101}));
}

class Measured : public testing::Test {
 protected:
  BenchSample measure(const BenchTest& test, SessionOptions options = {}) {
    BenchSetting setting(model_, options, {test}, 1);
    return setting.measure(test);
  }

  Engine engine_{{.threads = 2, .isa = {}, .exact = false, .log = {}}};
  Model model_ = open_synthetic(engine_, {.shape = "smollm2-135m"});  // 30 layers; the last works for wanted rows only
};

TEST_F(Measured, TokensOfAllSequencesCount) {
  const BenchSample sample = measure({.prompt = 6, .generate = 3, .sequences = 4, .ragged = true});
  EXPECT_EQ(sample.prompt_tokens, 24);
  EXPECT_EQ(sample.generated_tokens, 12);
  EXPECT_EQ(sample.rows.tokens, 36);
  EXPECT_GT(sample.seconds, 0);
}

TEST_F(Measured, AllRowsLeavesNoneOut) {
  EXPECT_EQ(measure({.prompt = 6, .sequences = 2}).rows.skipped, 10);
  const BenchSample all = measure({.prompt = 6, .sequences = 2}, {.every_row = true});
  EXPECT_EQ(all.rows.skipped, 0);
  EXPECT_EQ(all.rows.computed, 30 * 12);
}

TEST_F(Measured, ADepthIsReadOnceAndIsNotMeasured) {
  const BenchTest test{.generate = 2, .depth = 9, .sequences = 2};
  BenchSetting setting(model_, {}, {test}, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(setting.measure(test).rows.tokens, 4);
}

TEST_F(Measured, WhilePromptsAreReadTheOthersGenerateATokenAStep) {
  // Two tokens of each step of 10 go to those who generate: 3 steps for 2 x 12.
  const BenchSample sample = measure({.prompt = 12, .sequences = 2, .mixed = true}, {.micro_batch = 10});
  EXPECT_EQ(sample.prompt_tokens, 24);
  EXPECT_EQ(sample.generated_tokens, 6);
  EXPECT_EQ(sample.rows.tokens, 30);
}

TEST_F(Measured, MixedStepsWithoutRoomReadATokenOfEachPrompt) {
  const BenchSample sample = measure({.prompt = 6, .sequences = 3, .ragged = true, .mixed = true}, {.micro_batch = 2});
  EXPECT_EQ(sample.prompt_tokens, 18);
  const std::vector<int64_t> sizes = spread_sizes(6, 3, true, 1);
  EXPECT_EQ(sample.generated_tokens, 3 * *std::ranges::max_element(sizes));
}

TEST_F(Measured, AReportHasBothKindsOfTokensAndTheGain) {
  const BenchTest mixed{.prompt = 6, .sequences = 2, .mixed = true};
  BenchSetting needed(model_, {}, {mixed}, 1), all(model_, {.every_row = true}, {mixed}, 1);
  std::vector<BenchResult> results(2);
  results[0] = {&needed, mixed, {{2, 12, 4, {}}, {2, 12, 4, {}}}, &results[1]};
  results[1] = {&all, mixed, {{3, 12, 4, {}}, {3, 12, 4, {}}}};
  const boost::json::array lines = boost::json::parse(bench_report(results, "json", "today")).as_array();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].at("counted"), "prompt");
  EXPECT_EQ(lines[0].at("tokens_per_second").to_number<double>(), 6.0);
  EXPECT_EQ(lines[0].at("rows"), "needed");
  EXPECT_EQ(lines[0].at("speedup_over_all_rows").at("median").to_number<double>(), 1.5);
  EXPECT_EQ(lines[1].at("counted"), "generation");
  EXPECT_EQ(lines[1].at("tokens_per_second").to_number<double>(), 2.0);
  EXPECT_EQ(lines[2].at("rows"), "all");
  EXPECT_FALSE(lines[2].as_object().contains("speedup_over_all_rows"));

  EXPECT_FALSE(lines[0].as_object().contains("floor_tokens_per_second"));
  EXPECT_FALSE(lines[0].as_object().contains("ceilings"));

  const std::string table = bench_report(results, "table", "today");
  EXPECT_NE(table.find("1.500 (1.500-1.500)"), std::string::npos) << table;
  const std::string csv = bench_report(results, "csv", "today");
  const auto commas = [](std::string_view line) { return std::ranges::count(line, ','); };
  const size_t end = csv.find('\n');
  EXPECT_EQ(std::ranges::count(csv, '\n'), 5);
  EXPECT_NE(csv.substr(0, end).find("speedup_over_all_rows_median"), std::string::npos);
  EXPECT_GT(commas(csv.substr(0, end)), 30);
}

TEST_F(Measured, AReportSaysHowFastItCouldBe) {
  const BenchTest test{.prompt = 12};
  BenchSetting setting(model_, {}, {test}, 1);
  Ceilings ceilings;
  ceilings.threads = 2;
  ceilings.read_bytes_per_second = 2e9;
  ceilings.int8 = {{4, 3e9}, {8, 1e9}};
  ceilings.f32_multiply_adds_per_second = 5e8;
  StepWork computing, reading;  // 1 s each
  computing.int8_multiply_adds[4] = 3e9;
  reading.weight_bytes = 2e9;
  std::vector<BenchResult> results(1);
  results[0] = {&setting, test, {{8, 12, 0, {}}, {8, 12, 0, {}}}};  // 1.5 tokens/s of 6
  results[0].set_floor(ceilings, {computing, reading});
  const boost::json::value line = boost::json::parse(bench_report(results, "json", "today")).as_array().at(0);
  EXPECT_DOUBLE_EQ(line.at("floor_tokens_per_second").to_number<double>(), 6);
  EXPECT_DOUBLE_EQ(line.at("floor_share").to_number<double>(), 0.25);
  EXPECT_EQ(line.at("ceilings").at("read_bytes_per_second").to_number<double>(), 2e9);
  EXPECT_EQ(line.at("ceilings").at("int8_4_bits_multiply_adds_per_second").to_number<double>(), 3e9);
  EXPECT_FALSE(line.at("ceilings").as_object().contains("bf16_multiply_adds_per_second"));
  EXPECT_NE(bench_report(results, "csv", "today").find("ceilings_f32_multiply_adds_per_second"), std::string::npos);
  for (const char* format : {"table", "md"}) {
    const std::string text = bench_report(results, format, "today");
    EXPECT_NE(text.find("2 threads: reading 2.0 GB/s; int8 3.0/1.0 (4/8-bit weights), f32 0.5 GMAC/s"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("6.00"), std::string::npos) << text;
    EXPECT_NE(text.find("25.0 %"), std::string::npos) << text;
  }
  std::istringstream table(bench_report(results, "table", "today"));
  for (std::string row; std::getline(table, row);) EXPECT_LE(row.size(), 100u) << row;
}

TEST_F(Measured, WorkIsThatOfTheMeasuredPart) {
  const BenchTest deep{.generate = 3, .depth = 20, .sequences = 2}, mixed{.prompt = 12, .sequences = 2, .mixed = true};
  const BenchSetting setting(model_, {.micro_batch = 10}, {deep, mixed}, 1);
  const std::vector<StepWork> steps = setting.count_work(deep);
  ASSERT_EQ(steps.size(), 3u);
  for (const StepWork& step : steps) EXPECT_EQ(step.rows, 2);
  EXPECT_EQ(steps[0].int8_multiply_adds, steps[2].int8_multiply_adds);
  EXPECT_LT(steps[0].cache_bytes, steps[2].cache_bytes);
  int64_t rows = 0;
  for (const StepWork& step : setting.count_work(mixed)) rows += step.rows;
  EXPECT_EQ(rows, 30);
}

}  // namespace
}  // namespace ingle::app
