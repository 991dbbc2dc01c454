// The arithmetic of perplexity and divergence, and the file that keeps distributions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "apps/ingle/files.h"
#include "apps/ingle/perplexity/distribution.h"
#include "apps/ingle/perplexity/logits_file.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

const std::vector<float> kRowA = {0.0f, 1.5f, -2.0f, 4.0f, -30.0f};
const std::vector<float> kRowB = {0.5f, 1.0f, -2.5f, 3.0f, -28.0f};

TEST(Distribution, LogSumExpSurvivesLargeLogits) {
  EXPECT_NEAR(log_sum_exp(std::vector<float>{1000, 1000}), 1000 + std::log(2.0), 1e-9);
  EXPECT_NEAR(log_sum_exp(std::vector<float>{-1000, -1000}), -1000 + std::log(2.0), 1e-9);
}

TEST(Distribution, DivergenceOfTwoCoins) {
  // p = (1/2, 1/2), q = (3/4, 1/4): 1/2 log(2/3) + 1/2 log 2
  const std::vector<float> p = {0, 0}, q = {std::log(3.0f), 0};
  EXPECT_NEAR(kl_divergence(p, q), 0.5 * std::log(2.0 / 3) + 0.5 * std::log(2.0), 1e-7);
  EXPECT_NEAR(kl_divergence(p, p), 0, 1e-12);
}

TEST(Distribution, ATokenThatCannotComeAddsNothing) {
  const std::vector<float> p = {0, -INFINITY}, q = {0, 0};
  EXPECT_NEAR(kl_divergence(p, q), std::log(2.0), 1e-9);
  EXPECT_NEAR(kl_divergence(p, p), 0, 1e-9);
}

TEST(Likelihood, PerplexityOfACertainQuarterIsFour) {
  Likelihood likelihood;
  for (int i = 0; i < 10; ++i) likelihood.add(std::log(0.25));
  EXPECT_NEAR(likelihood.perplexity(), 4, 1e-12);
  EXPECT_NEAR(likelihood.standard_error(), 0, 1e-6);
}

TEST(Likelihood, TheStandardErrorGrowsWithTheSpread) {
  Likelihood likelihood;
  likelihood.add(-1);
  likelihood.add(-3);
  // mean 2, variance (population) 1, over n - 1 = 1
  EXPECT_NEAR(likelihood.perplexity(), std::exp(2.0), 1e-12);
  EXPECT_NEAR(likelihood.standard_error(), std::exp(2.0), 1e-9);
}

class LogitsFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ingle_logits_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    windows_.size = 4;  // first = 2: one scored row a window
    windows_.tokens = {0, 1, 2, 3, 4, 3, 2, 1};
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path path() const { return directory_ / "kept"; }
  void keep() {
    LogitsWriter writer(path(), windows_, 5);
    writer.add(kRowA);
    writer.add(kRowB);
    writer.commit();
  }
  std::string complaint() {
    try {
      LogitsReader reader(path());
      reader.next();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
      return error.what();
    }
    return "(none)";
  }

  std::filesystem::path directory_;
  Windows windows_;
};

TEST_F(LogitsFile, RowsComeBackAsTheyWere) {
  keep();
  EXPECT_EQ(std::filesystem::file_size(path()), LogitsWriter::file_bytes(windows_, 5));
  LogitsReader reader(path());
  EXPECT_EQ(reader.vocabulary(), 5);
  EXPECT_EQ(reader.windows().size, 4);
  EXPECT_EQ(reader.windows().tokens, windows_.tokens);
  for (const std::vector<float>* row : {&kRowA, &kRowB}) {
    const LogitsReader::Row kept = reader.next();
    EXPECT_EQ(kept.top, 3);
    const double norm = log_sum_exp(*row);
    // A row spans some 34 nats in 65535 steps, and rounding is half a step.
    for (size_t i = 0; i < row->size(); ++i)
      EXPECT_NEAR(kept.log_probabilities[i], (*row)[i] - norm, 34.0 / 65535) << i;
    EXPECT_NEAR(kl_divergence(kept.log_probabilities, *row), 0, 1e-7);
  }
}

TEST_F(LogitsFile, AnUncommittedOneLeavesNothing) {
  { LogitsWriter(path(), windows_, 5).add(kRowA); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(LogitsFile, ACutFileIsRefused) {
  keep();
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);
  EXPECT_THAT(complaint(), HasSubstr("damaged"));
  std::filesystem::resize_file(path(), 10);
  EXPECT_THAT(complaint(), HasSubstr("only 10 bytes"));
}

TEST_F(LogitsFile, AnotherKindOfFileIsRefused) {
  write_file(path(), std::string(100, 'x'));
  EXPECT_THAT(complaint(), HasSubstr("not a file of --save-logits"));
}

TEST_F(LogitsFile, ATokenOutsideTheVocabularyIsRefused) {
  keep();
  std::string bytes = read_file(path());
  bytes[24] = 5;
  write_file(path(), bytes);
  EXPECT_THAT(complaint(), HasSubstr("token 5 of 5"));
}

TEST(Windows, TheSecondHalfIsScored) {
  Windows windows;
  windows.size = 512;
  windows.tokens.resize(1024);
  EXPECT_EQ(windows.count(), 2);
  EXPECT_EQ(windows.first(), 256);
  EXPECT_EQ(windows.scored(), 255);
}

}  // namespace
}  // namespace ingle::app
