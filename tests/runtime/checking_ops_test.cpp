// A checked session computes the same, finds nothing where nothing is wrong, and what is wrong at its place.
#include "runtime/checking_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ingle/ingle.h"
#include "runtime/model_impl.h"
#include "runtime/session_impl.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

// Sums in another order. Where inputs are rounded to int8 on the way (in the middle of an operation too), a number that
// lies between two of them may go either way.
constexpr double kExactBound = 1e-5, kDefaultBound = 5e-3;

struct Read {
  golden::Rows rows;
  std::vector<OpCheck> checks;
};

// A prompt in one step, and a token more.
golden::Rows read(Session& session, const golden::Golden& data) {
  golden::Rows rows;
  const SequenceId id = session.create();
  const std::vector<TokenId>& tokens = data.prompts.front().tokens;
  const size_t most = std::min<size_t>(tokens.size(), 40);
  golden::read(session, id, golden::slice(tokens, 0, most - 1), rows);
  golden::read(session, id, golden::slice(tokens, most - 1, most), rows);
  return rows;
}

Read read_checked(const golden::Golden& data, bool exact, bool check) {
  Engine engine({.threads = 2, .isa = {}, .exact = exact, .log = {}});
  const Model model = Model::open(engine, data.file());
  Session session(model, {.context = 256, .check_ops = check});
  golden::Rows rows = read(session, data);
  return {std::move(rows), session.op_checks()};
}

TEST(CheckingOps, ChangeNoNumberAndFindNothingWrong) {
  for (const std::string& name : golden::names()) {
    const golden::Golden data = golden::load(name);
    for (bool exact : {true, false}) {
      const Read checked = read_checked(data, exact, true);
      EXPECT_TRUE(checked.rows == read_checked(data, exact, false).rows) << name;
      ASSERT_FALSE(checked.checks.empty());
      const OpCheck& worst = checked.checks.front();
      EXPECT_LE(worst.error, exact ? kExactBound : kDefaultBound)
          << name << ", " << worst.op << ", layer " << worst.layer << ", " << worst.weight;
      for (const OpCheck& check : checked.checks) {
        EXPECT_GT(check.calls, 0) << name << ", " << check.op;
        EXPECT_EQ(check.unchecked, 0) << name << ", " << check.op;
      }
    }
  }
}

TEST(CheckingOps, EveryOperationOfEveryLayerHasALine) {
  std::set<std::pair<int, std::string>> lines;
  for (const OpCheck& check : read_checked(golden::load("llama_wide"), true, true).checks)
    lines.insert({check.layer, check.op});
  // Logits are computed for some rows at a time, which are gathered.
  std::set<std::pair<int, std::string>> expected = {{-1, "embed"}, {-1, "norm"}, {-1, "gather_rows"}, {-1, "linear"}};
  for (int layer : {0, 1})
    for (const char* op : {"norm", "linears", "rope", "append", "attention", "linear", "gated_mlp"})
      expected.insert({layer, op});
  EXPECT_EQ(lines, expected);
}

TEST(CheckingOps, WithoutThemThereIsNothingToTell) {
  EXPECT_TRUE(read_checked(golden::load("llama_wide"), true, false).checks.empty());
}

// Spoils one operation of layer 1 by a hundredth.
class WrongOps final : public ForwardingOps {
 public:
  WrongOps(std::unique_ptr<Ops> inner, std::string op) : ForwardingOps(std::move(inner)), op_(std::move(op)) {}

  void set_layer(int layer) override {
    layer_ = layer;
    inner_->set_layer(layer);
  }
  Tensor norm(const Norm& n, Tensor x, Into into) override { return spoilt("norm", inner_->norm(n, x, into)); }
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override {
    return spoilt("gated_mlp", inner_->gated_mlp(gate, up, down, act, x, into));
  }
  void rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) override {
    inner_->rope(x, positions, rope);
    spoilt("rope", x);
  }
  void append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) override {
    inner_->append(kv, k, spoilt("append", v), rows, rope);
  }
  Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) override {
    return spoilt("attention", inner_->attention(q, kv, rows, options));
  }

 private:
  Tensor spoilt(std::string_view op, Tensor x) {
    if (op == op_ && layer_ == 1) inner_->apply(kScale, x, {.a = 1.01f});
    return x;
  }

  std::string op_;
  int layer_ = -1;
};

TEST(CheckingOps, AWrongOperationIsTheFirstLineAndTheOnlyOne) {
  const golden::Golden data = golden::load("llama_wide");
  Engine engine({.threads = 1, .isa = {}, .exact = true, .log = {}});
  const Model model = Model::open(engine, data.file());
  for (const char* op : {"norm", "gated_mlp", "rope", "append", "attention"}) {
    Session session(model, {.context = 256});
    auto checking =
        std::make_unique<CheckingOps>(std::make_unique<WrongOps>(std::move(session.impl().ops), op), model.impl().file,
                                      *model.impl().loaded.weights, 1, Precision::kExact);
    const CheckingOps& checks = *checking;
    session.impl().ops = std::move(checking);
    read(session, data);
    const std::vector<OpCheck> lines = checks.checks();
    EXPECT_EQ(lines[0].op, op);
    EXPECT_EQ(lines[0].layer, 1) << op;
    EXPECT_NEAR(lines[0].error, 0.01, 1e-4) << op;
    EXPECT_LE(lines[1].error, kExactBound) << op << " is wrong, and so is " << lines[1].op;
  }
}

// An adapter's products are its own: nothing here has its weights a second time.
TEST(CheckingOps, WhatAnAdapterComputesIsCountedAndNotCompared) {
  const golden::Golden data = golden::load("llama_wide");
  Engine engine({.threads = 1, .isa = {}, .exact = true, .log = {}});
  const Model model = Model::open(engine, data.file());
  const Adapter adapter = Adapter::open(model, golden::path("../lora/llama_wide.one.gguf"));
  Session session(model, {.context = 256, .check_ops = true, .adapters = {{&adapter, 1.0f}}});
  read(session, data);
  int64_t unchecked = 0;
  for (const OpCheck& check : session.op_checks()) {
    unchecked += check.unchecked;
    EXPECT_LE(check.error, kExactBound) << check.op << ", layer " << check.layer;
  }
  EXPECT_GT(unchecked, 0);
}

}  // namespace
}  // namespace ingle
