// A traced session computes the same and says, operation by operation, what it does.
#include "runtime/tracing_ops.h"

#include <gtest/gtest.h>

#include "ingle/ingle.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

struct Traced {
  golden::Rows rows;
  std::vector<std::string> lines;
};

Traced trace(const std::string& name, bool on) {
  const golden::Golden data = golden::load(name);
  Engine engine({.threads = 1, .isa = {}, .exact = false, .log = {}});
  const Model model = Model::open(engine, data.file());
  Traced result;
  SessionOptions options{.context = 256};
  if (on) options.trace = [&](std::string_view line) { result.lines.emplace_back(line); };
  Session session(model, options);
  const SequenceId id = session.create();
  const std::vector<TokenId> tokens = golden::slice(data.prompts.front().tokens, 0, 9);
  golden::read(session, id, golden::slice(tokens, 0, 8), result.rows);
  golden::read(session, id, golden::slice(tokens, 8, 9), result.rows);
  return result;
}

TEST(TracingOps, ChangeNoNumber) {
  for (const std::string& name : golden::names())
    EXPECT_TRUE(trace(name, true).rows == trace(name, false).rows) << name;
}

TEST(TracingOps, SayStepLayerNameWeightsAndShapes) {
  const std::vector<std::string> lines = trace("llama_wide", true).lines;
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.front(), "step 0  outside   embed           token_embd.weight 8 tokens -> [8, 64]");
  EXPECT_TRUE(lines.back().starts_with("step 1  outside   linear ")) << lines.back();
  EXPECT_TRUE(lines.back().ends_with("-> [1, 133]")) << lines.back();
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find('\n'), line.npos) << line;
    EXPECT_NE(line.find('['), line.npos) << line;
  }
}

}  // namespace
}  // namespace ingle
