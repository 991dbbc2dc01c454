// What quantize says of an imatrix that is most likely another model's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/writer.h"
#include "tests/apps/command_run.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace ingle::app {
namespace {

class ImportanceWarnings : public testing::Test {
 protected:
  // What quantizing says when importance is known of these weights of 40 columns.
  std::string said_with(std::initializer_list<std::string> weights) {
    const std::vector<float> sums(40, 1.0f), counts{1};
    GgufWriter writer(folder_ / "imatrix.gguf");
    writer.set<std::string>("general.type", "imatrix");
    for (const std::string& weight : weights) {
      writer.add_tensor(weight + ".in_sum2", DType::kF32, {1, 40}, std::as_bytes(std::span(sums)));
      writer.add_tensor(weight + ".counts", DType::kF32, {1, 1}, std::as_bytes(std::span(counts)));
    }
    writer.finish();
    const test::CommandRun run =
        test::run_command("quantize", {golden::load("qwen3_tiny").file(), folder_ / "out.gguf", "--type", "bf16",
                                       "--imatrix", folder_ / "imatrix.gguf", "--threads", "1"});
    EXPECT_EQ(run.error, "");
    return run.err;
  }

  test::TemporaryFolder folder_;
};

TEST_F(ImportanceWarnings, AnImatrixThatKnowsFewMatricesIsDoubted) {
  EXPECT_THAT(said_with({"blk.0.other.weight"}), testing::HasSubstr("says what matters in 0 of 14 matrices"));
  EXPECT_THAT(said_with({"blk.0.attn_q.weight", "blk.1.attn_k.weight"}), testing::HasSubstr("in 2 of 14 matrices"));
}

TEST_F(ImportanceWarnings, OneThatKnowsMostIsNot) {
  EXPECT_THAT(said_with({"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.ffn_gate.weight",
                         "blk.0.ffn_up.weight", "blk.1.attn_q.weight", "blk.1.attn_k.weight"}),
              testing::Not(testing::HasSubstr("warning")));
}

}  // namespace
}  // namespace ingle::app
