// Adapters beside the weights against models whose weights were changed (scripts/make_lora_golden.py): alone, several
// at once, and different ones for the sequences of one batch.
#include <gtest/gtest.h>

#include <cstring>

#include "gguf/writer.h"
#include "ingle/ingle.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

using golden::read;
using golden::relative_error;
using golden::Rows;
using golden::slice;
using test::expect_error;
using test::TemporaryFolder;

constexpr double kExactBound = 1e-5;

std::string lora_path(const std::string& file) { return std::string(INGLE_SOURCE_DIR) + "/tests/models/lora/" + file; }

boost::json::value listing() { return boost::json::parse(golden::read_file(lora_path("lora.json"))); }

std::vector<std::string> names() {
  std::vector<std::string> all;
  const boost::json::value file = listing();
  for (const auto& model : file.at("models").as_object()) all.emplace_back(model.key());
  return all;
}

struct Loaded {
  explicit Loaded(const std::string& name, bool exact = true, const std::string& isa = "")
      : engine({.threads = 1, .isa = isa, .exact = exact, .log = {}}),
        model(Model::open(engine, golden::path(name + ".gguf"))),
        one(Adapter::open(model, lora_path(name + ".one.gguf"))),
        two(Adapter::open(model, lora_path(name + ".two.gguf"))) {
    const boost::json::value all = listing();
    for (const boost::json::value& token : all.at("models").at(name).at("tokens").as_array())
      tokens.push_back(static_cast<TokenId>(token.as_int64()));
    for (const boost::json::value& scale : all.at("scales").as_array())
      scales.push_back(static_cast<float>(scale.as_double()));
    const std::string bytes = golden::read_file(lora_path(name + ".logits"));
    const auto vocabulary = static_cast<size_t>(model.info().vocabulary);
    if (bytes.size() != 2 * tokens.size() * vocabulary * sizeof(float)) throw std::runtime_error(name + ".logits");
    for (size_t row = 0; row < 2 * tokens.size(); ++row) {
      Rows& rows = row < tokens.size() ? with_one : with_both;
      rows.emplace_back(vocabulary);
      std::memcpy(rows.back().data(), bytes.data() + row * vocabulary * sizeof(float), vocabulary * sizeof(float));
    }
  }
  std::vector<AppliedAdapter> only_one() const { return {{&one, 1}}; }
  std::vector<AppliedAdapter> both() const { return {{&one, scales[0]}, {&two, scales[1]}}; }

  Engine engine;
  Model model;
  Adapter one, two;
  std::vector<TokenId> tokens;
  std::vector<float> scales;
  Rows with_one, with_both;
};

SequenceId create(Session& s, std::vector<AppliedAdapter> adapters) {
  const SequenceId id = s.create();
  s.set_adapters(id, std::move(adapters));
  return id;
}

class GoldenAdapter : public testing::TestWithParam<std::pair<std::string, std::string>> {};

std::vector<std::pair<std::string, std::string>> all_cases() {
  std::vector<std::pair<std::string, std::string>> cases;
  for (const std::string& name : names())
    for (const std::string& isa : Engine::isas()) cases.emplace_back(name, isa);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenAdapter, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.first + "_" + info.param.second; });

TEST_P(GoldenAdapter, GivesTheLogitsOfAModelWithChangedWeights) {
  const Loaded l(GetParam().first, true, GetParam().second);
  Session s(l.model, {.context = 256, .sequences = 4, .micro_batch = 17});
  for (const bool both : {false, true}) {
    const Rows& expected = both ? l.with_both : l.with_one;
    const auto expect_rows = [&](const Rows& rows, const char* how) {
      for (size_t p = 0; p < l.tokens.size(); ++p)
        ASSERT_LE(relative_error(rows[p], expected[p]), kExactBound) << how << ", position " << p;
    };
    const auto adapters = both ? l.both() : l.only_one();
    Rows rows;
    read(s, create(s, adapters), l.tokens, rows);
    expect_rows(rows, "at once");
    const SequenceId id = create(s, adapters);
    for (const TokenId token : l.tokens) read(s, id, {&token, 1}, rows);
    expect_rows(rows, "token by token");
    Rows last;
    const SequenceId wanted = create(s, adapters);  // the last layer sees one row of them
    read(s, wanted, l.tokens, last, Want::kLast);
    ASSERT_LE(relative_error(last[l.tokens.size() - 1], expected.back()), kExactBound);
  }
}

TEST_P(GoldenAdapter, EverySequenceOfABatchHasItsOwn) {
  for (const bool exact : {true, false}) {
    const Loaded l(GetParam().first, exact, GetParam().second);
    const std::vector<AppliedAdapter> lists[] = {{}, l.only_one(), {{&l.two, -2}}, l.both(), {}};
    constexpr size_t kCount = std::size(lists);
    std::vector<Rows> alone(kCount), together(kCount);
    const auto tokens_of = [&](size_t i) { return slice(l.tokens, 0, 12 + 5 * i); };
    const auto want_of = [](size_t i) { return i % 2 == 1 ? Want::kLast : Want::kAll; };
    for (size_t i = 0; i < kCount; ++i) {
      Session s(l.model, {.context = 64});
      read(s, i == 0 ? s.create() : create(s, lists[i]), tokens_of(i), alone[i], want_of(i));
      together[i].resize(64);
    }
    Session s(l.model, {.context = 64, .sequences = kCount, .micro_batch = 23});
    std::vector<std::vector<TokenId>> tokens;
    for (size_t i = 0; i < kCount; ++i) tokens.push_back(tokens_of(i));
    std::vector<RunRequest> runs;
    for (size_t i = 0; i < kCount; ++i) runs.push_back({create(s, lists[i]), tokens[i], want_of(i)});
    s.evaluate(runs, [&](const ResultRow& row) {
      together[row.run][static_cast<size_t>(row.position)].assign(row.logits.begin(), row.logits.end());
    });
    for (size_t i = 0; i < kCount; ++i) {
      for (size_t p = 0; p < tokens[i].size(); ++p) {
        ASSERT_EQ(together[i][p].size(), alone[i][p].size());
        if (alone[i][p].empty()) continue;
        // Float products of one row and of several may round differently; see docs/adr/0004-promises-of-arithmetic.md.
        ASSERT_LE(relative_error(together[i][p], alone[i][p]), 1e-5)
            << "sequence " << i << ", position " << p << (exact ? ", exact" : "");
      }
    }
  }
}

TEST(Adapter, ALargeBatchOfWantedRowsIsCroppedWithItsAdapters) {
  const Loaded l("llama_wide");
  Session s(l.model, {.context = 64, .sequences = 3});
  Rows rows(64);
  // 40 rows with logits behind 40 that only have hidden states: logits come 32 rows at a time.
  const RunRequest runs[] = {{create(s, {}), l.tokens, Want::kNothing, Want::kAll},
                             {create(s, l.both()), l.tokens, Want::kAll, Want::kNothing}};
  s.evaluate(runs, [&](const ResultRow& row) {
    if (row.run == 1) rows[static_cast<size_t>(row.position)].assign(row.logits.begin(), row.logits.end());
  });
  for (size_t p = 0; p < l.tokens.size(); ++p) EXPECT_LE(relative_error(rows[p], l.with_both[p]), kExactBound);
}

// Integer products of a block run as one operation, and in parts where an adapter changes it: who has none must not
// notice.
TEST(Adapter, SequencesWithoutOneComputeTheSameBitsInCompany) {
  const TemporaryFolder folder;
  quantize_file(golden::path("llama_wide.gguf"), folder / "q8.gguf", {.type = "q8_0", .threads = 1});
  Engine engine({.threads = 1, .log = {}});
  const Model model = Model::open(engine, folder / "q8.gguf");
  const Adapter adapter = Adapter::open(model, lora_path("llama_wide.one.gguf"));
  const std::vector<TokenId> tokens = Loaded("llama_wide").tokens;
  Rows alone, adapted, together(64), adapted_together(64);
  Session s(model, {.context = 64, .sequences = 4});
  read(s, s.create(), tokens, alone);
  read(s, create(s, {{&adapter, 1}}), tokens, adapted);
  const RunRequest runs[] = {{s.create(), tokens, Want::kAll}, {create(s, {{&adapter, 1}}), tokens, Want::kAll}};
  s.evaluate(runs, [&](const ResultRow& row) {
    (row.run == 0 ? together : adapted_together)[static_cast<size_t>(row.position)].assign(row.logits.begin(),
                                                                                           row.logits.end());
  });
  EXPECT_NE(alone, adapted);
  EXPECT_EQ(alone, together);
  EXPECT_EQ(adapted, adapted_together);
}

TEST(Adapter, AScaleOfZeroChangesNothing) {
  const Loaded l("llama_wide");
  Session s(l.model, {.context = 64, .sequences = 2});
  Rows plain, scaled;
  read(s, s.create(), l.tokens, plain);
  read(s, create(s, {{&l.one, 0}}), l.tokens, scaled);
  for (size_t p = 0; p < l.tokens.size(); ++p) EXPECT_LE(relative_error(scaled[p], plain[p]), 1e-6);
}

TEST(Adapter, PrefixesAreSharedAmongEqualAdaptersOnly) {
  const Loaded l("llama_wide");
  std::vector<TokenId> tokens;
  for (int i = 0; i < 4; ++i) tokens.insert(tokens.end(), l.tokens.begin(), l.tokens.end());
  Session s(l.model, {.context = 200, .sequences = 8});
  const auto reused = [&](std::vector<AppliedAdapter> adapters) {
    return s.reuse_prefix(create(s, std::move(adapters)), tokens);
  };
  Rows rows;
  const SequenceId id = create(s, l.only_one());
  read(s, id, tokens, rows, Want::kNothing);
  const int64_t all = static_cast<int64_t>(tokens.size()) - 1;
  for (const bool released : {false, true}) {
    EXPECT_EQ(reused({}), 0);
    EXPECT_EQ(reused({{&l.one, 0.5f}}), 0);
    EXPECT_EQ(reused(l.both()), 0);
    EXPECT_EQ(reused(l.only_one()), all);
    if (!released) s.release(id);
  }
  const SequenceId fork = s.fork(create(s, l.only_one()));
  EXPECT_EQ(s.adapters(fork).size(), 1u);
  EXPECT_EQ(s.reuse_prefix(fork, tokens), all);
}

TEST(Adapter, ASessionsOwnAreThoseOfItsNewSequences) {
  const Loaded l("llama_wide");
  Session s(l.model, {.context = 64, .sequences = 2, .adapters = l.both()});
  Rows rows;
  read(s, s.create(), l.tokens, rows);
  EXPECT_LE(relative_error(rows[7], l.with_both[7]), kExactBound);
  EXPECT_EQ(s.memory().back().owner, "adapter");
}

TEST(Adapter, AKeptSequenceGoesOnWithItsAdaptersAndNoOthers) {
  const TemporaryFolder folder;
  const Loaded l("llama_wide", false);
  Rows expected, rows;
  {
    Session s(l.model, {.context = 64});
    const SequenceId id = create(s, l.both());
    read(s, id, slice(l.tokens, 0, 30), expected, Want::kNothing);
    s.save_state(id, folder / "state");
    read(s, id, slice(l.tokens, 30, l.tokens.size()), expected);
  }
  const Loaded other("llama_wide", false);
  Session s(other.model, {.context = 64});
  const auto load = [&](std::vector<AppliedAdapter> adapters) {
    return [&, adapters] { s.load_state(folder / "state", adapters); };
  };
  expect_error(load({}), ErrorCode::kInvalidArgument, "was saved with the adapters llama_wide.one.gguf (fingerprint");
  expect_error(load(other.only_one()), ErrorCode::kInvalidArgument, "times 1.25, here it is llama_wide.one.gguf");
  const SequenceId id = s.load_state(folder / "state", other.both()).sequence;
  read(s, id, slice(l.tokens, 30, l.tokens.size()), rows);
  for (size_t p = 30; p < l.tokens.size(); ++p) EXPECT_EQ(rows[p], expected[p]);
}

TEST(Adapter, MisuseIsRefused) {
  const Loaded l("llama_wide"), other("llama_tied");
  Session s(l.model, {.context = 64});
  const auto refused = [&](SequenceId id, std::vector<AppliedAdapter> adapters, std::string_view message) {
    expect_error([&] { s.set_adapters(id, adapters); }, ErrorCode::kInvalidArgument, message);
  };
  const SequenceId id = s.create();
  refused(id, {{&other.one, 1}}, "llama_tied.one.gguf: was opened for another model");
  refused(id, {{&l.one, NAN}}, "is no number");
  refused(id, {{nullptr, 1}}, "one of them is none");
  refused(99, {}, "there is no such sequence");
  Rows rows;
  read(s, id, l.tokens, rows, Want::kNothing);
  refused(id, l.only_one(), "has 40 tokens; adapters are set before it reads any");
  EXPECT_THROW(Session(l.model, {.adapters = {{&other.one, 1}}}), Error);
}

// An adapter file of a few zeros. What is wrong is changed before it is written.
class AdapterFiles : public testing::Test {
 protected:
  AdapterFiles() : engine_({.threads = 1, .log = {}}), model_(Model::open(engine_, golden::path("llama_wide.gguf"))) {}

  using Tensors = std::vector<std::pair<std::string, Shape>>;
  void refused(const Tensors& tensors, ErrorCode code, std::string_view message,
               const std::function<void(GgufWriter&)>& change = {}) const {
    GgufWriter writer(folder_ / "x.gguf");
    writer.set<std::string>("general.type", "adapter");
    writer.set<std::string>("general.architecture", "llama");
    writer.set<std::string>("adapter.type", "lora");
    writer.set<float>("adapter.lora.alpha", 8);
    if (change) change(writer);
    const std::vector<std::byte> zeros(1 << 20);
    for (const auto& [name, shape] : tensors)
      writer.add_tensor(name, DType::kF32, shape, std::span(zeros).first(static_cast<size_t>(shape.elements()) * 4));
    writer.finish();
    expect_error([&] { Adapter::open(model_, folder_ / "x.gguf"); }, code, message);
  }

  const TemporaryFolder folder_;
  Engine engine_;
  Model model_;  // q: [128, 64], 64 wide, vocabulary of 133
};

TEST_F(AdapterFiles, WhatIsWrongIsNamedWithItsShape) {
  using enum ErrorCode;
  const std::string q = "blk.0.attn_q.weight";
  refused({{q + ".lora_a", {3, 65}}, {q + ".lora_b", {128, 3}}}, kInvalidFile,
          "blk.0.attn_q.weight.lora_a is [3, 65]; beside the model's [128, 64] it has to be [3, 64]");
  refused({{q + ".lora_a", {3, 64}}, {q + ".lora_b", {127, 3}}}, kInvalidFile,
          "blk.0.attn_q.weight.lora_b is [127, 3]; beside the model's [128, 64] it has to be [128, rank]");
  refused({{q + ".lora_a", {4, 64}}, {q + ".lora_b", {128, 3}}}, kInvalidFile, "lora_a is [4, 64]");
  refused({{q + ".lora_a", {64, 3}}, {q + ".lora_b", {3, 128}}}, kInvalidFile, "lora_b is [3, 128]");
  refused({{q + ".lora_a", {1, 3, 64}}, {q + ".lora_b", {128, 3}}}, kInvalidFile, "lora_a is [1, 3, 64]");
  refused({{q + ".lora_a", {3, 64}}}, kInvalidFile, "blk.0.attn_q.weight.lora_b is missing");
  refused({{q + ".lora_b", {128, 3}}}, kInvalidFile, "blk.0.attn_q.weight.lora_a is missing");
  refused({{"blk.9.attn_q.weight.lora_a", {3, 64}}, {"blk.9.attn_q.weight.lora_b", {128, 3}}}, kInvalidFile,
          "blk.9.attn_q.weight.lora_a: the model has no tensor blk.9.attn_q.weight");
  refused({{"output_norm.weight.lora_a", {3, 64}}, {"output_norm.weight.lora_b", {1, 3}}}, kUnsupported,
          "output_norm.weight is no matrix that it multiplies by");
  refused({{"token_embd.weight.lora_a", {3, 64}}, {"token_embd.weight.lora_b", {133, 3}}}, kInvalidFile,
          "token_embd.weight.lora_a is [3, 64]; beside the model's [133, 64] it has to be [133, rank]");
  refused({{q, {3, 64}}}, kUnsupported, "blk.0.attn_q.weight: its name ends in neither .lora_a nor .lora_b");
  refused({}, kInvalidFile, "has no tensors");
}

TEST_F(AdapterFiles, AnotherKindOfFileIsNamed) {
  using enum ErrorCode;
  const Tensors tensors = {{"blk.0.attn_q.weight.lora_a", {3, 64}}, {"blk.0.attn_q.weight.lora_b", {128, 3}}};
  const auto with = [&](std::string_view key, const std::string& value) {
    return [=](GgufWriter& writer) { writer.set<std::string>(key, value); };
  };
  refused(tensors, kUnsupported, "general.type is 'model', not 'adapter'", with("general.type", "model"));
  refused(tensors, kUnsupported, "is an adapter of type 'ia3'; 'lora' is known", with("adapter.type", "ia3"));
  refused(tensors, kInvalidFile, "was made for the architecture 'gemma3'", with("general.architecture", "gemma3"));
  refused(tensors, kInvalidFile, "adapter.lora.alpha", with("adapter.lora.alpha", "much"));
  refused(tensors, kInvalidFile, "'adapter.lora.alpha' is inf",
          [](GgufWriter& writer) { writer.set<float>("adapter.lora.alpha", INFINITY); });
  refused(tensors, kUnsupported, "aLoRA",
          [](GgufWriter& writer) { writer.set_array<uint32_t>("adapter.alora.invocation_tokens", {1}); });
  expect_error([&] { Adapter::open(model_, golden::path("llama_wide.gguf")); }, kUnsupported, "not 'adapter'");
  expect_error([&] { Adapter::open(model_, folder_ / "absent.gguf"); }, kNotFound, "absent.gguf");
  const Model vocabulary = Model::open(engine_, golden::path("llama_wide.gguf"), {.vocabulary_only = true});
  expect_error([&] { Adapter::open(vocabulary, lora_path("llama_wide.one.gguf")); }, kInvalidArgument,
               "vocabulary only");
}

}  // namespace
}  // namespace ingle
