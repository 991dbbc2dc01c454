// A tensor taken from another file: what the session computes with it, and that it gives it back.
#include "ingle/tensor_swap.h"

#include <gtest/gtest.h>

#include "gguf/gguf.h"
#include "ingle/quantize.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

class Swap : public testing::TestWithParam<const char*> {
 protected:
  std::vector<float> last_logits(Session& session) {
    const SequenceId sequence = session.create();
    golden::Rows rows;
    golden::read(session, sequence, golden_.prompts.back().tokens, rows);
    session.release(sequence);
    return rows[golden_.prompts.back().tokens.size() - 1];
  }

  const golden::Golden golden_ = golden::load(GetParam());
  Engine engine_{{.threads = 2, .exact = true}};
  const Model model_ = Model::open(engine_, golden_.file());
  test::TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Runtime, Swap, testing::Values("llama_tied", "phi3_short", "qwen3moe_tiny", "gemma4_ple"));

// One tensor of a file in which all are rounded is as good as a file in which only this one is.
TEST_P(Swap, IsTheModelInWhichOnlyThisTensorIsRounded) {
  Session session(model_);
  const std::vector<float> before = last_logits(session);
  const QuantizeReport all =
      quantize_file(golden_.file(), folder_ / "all.gguf", {.type = "bf16", .pure = true, .threads = 1});
  int changed = 0;
  {
    TensorSwap swap(session, folder_ / "all.gguf");
    for (const QuantizedTensor& tensor : all.tensors) {
      if (tensor.from == tensor.to) continue;
      quantize_file(golden_.file(), folder_ / "one.gguf",
                    {.type = "f32", .overrides = {{"^" + tensor.name + "$", "bf16"}}, .threads = 1});
      const Model one = Model::open(engine_, folder_ / "one.gguf");
      Session expected(one);
      ASSERT_TRUE(swap.take(tensor.name)) << tensor.name;
      const std::vector<float> logits = last_logits(session);
      EXPECT_LT(golden::relative_error(logits, last_logits(expected)), 1e-5) << tensor.name;
      changed += golden::relative_error(logits, before) > 1e-5 ? 1 : 0;
    }
  }
  EXPECT_GE(changed, static_cast<int>(all.tensors.size()) / 3);
  EXPECT_EQ(last_logits(session), before);
}

// A session that has computed with adapters before the swap, and does so after it.
TEST(SwapWithAdapters, TakesHoldAtOnceAndLetsGo) {
  const test::TemporaryFolder folder;
  Engine engine({.threads = 1, .exact = true});
  const std::string file = golden::path("llama_wide.gguf");
  const Model model = Model::open(engine, file);
  quantize_file(file, folder / "all.gguf", {.type = "bf16", .pure = true, .threads = 1});
  const Adapter adapter =
      Adapter::open(model, std::string(INGLE_SOURCE_DIR) + "/tests/models/lora/llama_wide.one.gguf");
  const std::vector<TokenId> tokens = {5, 9, 2, 77, 30};
  const auto last_logits = [&](Session& session) {
    const SequenceId sequence = session.create();
    golden::Rows rows;
    golden::read(session, sequence, tokens, rows);
    session.release(sequence);
    return rows[tokens.size() - 1];
  };
  Session session(model, {.context = 64, .adapters = {{&adapter, 1}}});
  const std::vector<float> before = last_logits(session);
  {
    TensorSwap swap(session, folder / "all.gguf");
    ASSERT_TRUE(swap.take("blk.0.attn_v.weight"));
    EXPECT_NE(last_logits(session), before);
  }
  EXPECT_EQ(last_logits(session), before);
}

TEST_P(Swap, AFileThatLacksTheTensorIsRefused) {
  Session session(model_);
  TensorSwap swap(session, golden::load("llama_wide").file());
  EXPECT_FALSE(swap.take("nowhere.weight"));
  EXPECT_THROW(swap.take("token_embd.weight"), Error);
}

}  // namespace
}  // namespace ingle
