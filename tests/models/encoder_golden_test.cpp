// Every encoder against an independent implementation: hidden rows and scores, whatever else is in the batch, and
// whichever rows are wanted; and what cannot be read says why.
#include <gtest/gtest.h>

#include "ingle/ingle.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/changed_model.h"
#include "tests/models/encoders.h"

namespace ingle {
namespace {

using golden::EncodedText;
using golden::Encoder;
using golden::relative_error;
using golden::Rows;
using test::error_of;

// f32 against f32: both are off by a few units in the last place times the depth of the model.
constexpr double kExactBound = 1e-5;
// f16 weights and a cache of 16 bits without int8 anywhere: these models have no quantised weights.
constexpr double kDefaultBound = 5e-3;

struct Case {
  std::string model, isa;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& model : golden::encoder_names()) {
    for (const std::string& isa : Engine::isas()) cases.push_back({model, isa});
  }
  return cases;
}

// What came of each run.
struct Result {
  Rows hidden, scores;
};

std::vector<Result> evaluate(Session& session, const std::vector<EncodedText>& texts, Want hidden, Want scores) {
  std::vector<RunRequest> runs;
  for (const EncodedText& text : texts) {
    runs.push_back({.sequence = session.create(),
                    .tokens = text.tokens,
                    .want = Want::kNothing,
                    .hidden = hidden,
                    .scores = scores,
                    .second_text = text.second});
  }
  std::vector<Result> results(texts.size());
  session.evaluate(runs, [&](const ResultRow& row) {
    Result& result = results[row.run];
    if (!row.hidden.empty()) result.hidden.emplace_back(row.hidden.begin(), row.hidden.end());
    if (!row.scores.empty()) result.scores.emplace_back(row.scores.begin(), row.scores.end());
  });
  return results;
}

class GoldenEncoder : public testing::TestWithParam<Case> {
 protected:
  GoldenEncoder()
      : golden_(golden::load_encoder(GetParam().model)),
        engine_({.threads = 1, .isa = GetParam().isa, .exact = true, .log = {}}),
        model_(Model::open(engine_, golden_.file())) {}

  // The row that stands for a text, by the model's own pooling.
  Want standing() const { return model_.info().causal ? Want::kLast : Want::kFirst; }
  static void expect_rows(const std::vector<Result>& results, const std::vector<EncodedText>& texts, double bound) {
    for (size_t t = 0; t < texts.size(); ++t) {
      ASSERT_EQ(results[t].hidden.size(), texts[t].rows.size());
      for (size_t p = 0; p < texts[t].rows.size(); ++p)
        ASSERT_LE(relative_error(results[t].hidden[p], texts[t].rows[p]), bound) << "text " << t << ", position " << p;
    }
  }

  Encoder golden_;
  Engine engine_;
  Model model_;
};

TEST_P(GoldenEncoder, GivesTheReferenceRowsOfEveryTextAlone) {
  Session s(model_, {.sequences = 4});
  for (const EncodedText& text : golden_.texts)
    expect_rows(evaluate(s, {text}, Want::kAll, Want::kNothing), {text}, kExactBound);
}

TEST_P(GoldenEncoder, GivesTheSameOfAllTextsInOneMicroBatch) {
  Session s(model_, {.sequences = 4});
  expect_rows(evaluate(s, golden_.texts, Want::kAll, Want::kNothing), golden_.texts, kExactBound);
}

// Every text three times over, more than a micro-batch holds.
TEST_P(GoldenEncoder, GivesTheSameInSeveralMicroBatches) {
  Session s(model_, {.sequences = 12, .micro_batch = 160});
  std::vector<EncodedText> texts;
  for (int i = 0; i < 3; ++i) texts.insert(texts.end(), golden_.texts.begin(), golden_.texts.end());
  expect_rows(evaluate(s, texts, Want::kAll, Want::kNothing), texts, kExactBound);
}

TEST_P(GoldenEncoder, StaysCloseInDefaultPrecision) {
  Engine engine({.threads = 2, .isa = GetParam().isa, .exact = false, .log = {}});
  const Model model = Model::open(engine, golden_.file());
  Session s(model, {.sequences = 4});
  expect_rows(evaluate(s, golden_.texts, Want::kAll, Want::kNothing), golden_.texts, kDefaultBound);
}

// The last layer computes the rows that are wanted; they are the same bits.
TEST_P(GoldenEncoder, TheRowThatStandsForATextIsTheSameWhenItIsTheOnlyOneWanted) {
  Session all(model_, {.sequences = 4}), one(model_, {.sequences = 4});
  const std::vector<Result> every = evaluate(all, golden_.texts, Want::kAll, Want::kNothing);
  const std::vector<Result> sole = evaluate(one, golden_.texts, standing(), Want::kNothing);
  for (size_t t = 0; t < golden_.texts.size(); ++t) {
    ASSERT_EQ(sole[t].hidden.size(), 1);
    EXPECT_EQ(sole[t].hidden[0], model_.info().causal ? every[t].hidden.back() : every[t].hidden.front());
  }
  const RowCounts rows = one.rows();
  EXPECT_EQ(rows.by_layer.back(), static_cast<int64_t>(golden_.texts.size()));
  EXPECT_EQ(rows.by_layer.front(), rows.tokens);
}

TEST_P(GoldenEncoder, GivesTheReferenceScores) {
  Session s(model_, {.sequences = 4});
  ASSERT_EQ(model_.info().labels, golden_.labels);
  EXPECT_EQ(model_.info().pooling, golden_.pooling);
  if (golden_.labels.empty()) {
    EXPECT_EQ(error_of(ErrorCode::kUnsupported, [&] { evaluate(s, golden_.texts, Want::kNothing, standing()); }),
              golden_.file() + ": has no classifier (cls.output.weight) that gives scores");
    return;
  }
  const std::vector<Result> results = evaluate(s, golden_.texts, Want::kNothing, standing());
  for (size_t t = 0; t < golden_.texts.size(); ++t) {
    ASSERT_EQ(results[t].scores.size(), 1);
    ASSERT_EQ(results[t].scores[0].size(), golden_.labels.size());
    EXPECT_LE(relative_error(results[t].scores[0], golden_.texts[t].scores), kExactBound);
    EXPECT_TRUE(results[t].hidden.empty());
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.model + "_" + info.param.isa; }
INSTANTIATE_TEST_SUITE_P(Every, GoldenEncoder, testing::ValuesIn(all_cases()), name_of);

// What reading in both directions asks of a session.
class Bert : public testing::Test {
 protected:
  Engine engine_{{.threads = 1, .isa = {}, .exact = true, .log = {}}};
  Encoder golden_ = golden::load_encoder("bert_tiny");
  Model model_ = Model::open(engine_, golden_.file());
};

TEST_F(Bert, SaysThatItIsAnEncoder) {
  EXPECT_FALSE(model_.info().causal);
  EXPECT_FALSE(model_.info().generates);
  EXPECT_EQ(model_.info().pooling, "mean");
}

TEST_F(Bert, ATextLongerThanAMicroBatchIsRefusedWithTheNumbers) {
  Session s(model_, {.sequences = 2, .micro_batch = 64});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { evaluate(s, {golden_.texts[0]}, Want::kAll, Want::kNothing); }),
            "sequence 0: this model reads a text at once, and 70 tokens are more than the micro-batch of 64");
  EXPECT_EQ(s.length(0), 0);
}

TEST_F(Bert, ATextIsNotReadInPieces) {
  Session s(model_, {.sequences = 2});
  const SequenceId id = s.create();
  const RunRequest run{id, golden_.texts[1].tokens, Want::kNothing, Want::kAll};
  s.evaluate({&run, 1}, [](const ResultRow&) {});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       s.evaluate({&run, 1}, [](const ResultRow&) {});
                     }),
            "sequence 0: has 9 tokens, and this model reads a text at once, in both directions; give it a sequence of "
            "its own");
}

TEST_F(Bert, NoPrefixIsReused) {
  Session s(model_, {.sequences = 2});
  const RunRequest run{s.create(), golden_.texts[0].tokens, Want::kNothing, Want::kAll};
  s.evaluate({&run, 1}, [](const ResultRow&) {});
  EXPECT_EQ(s.reuse_prefix(s.create(), golden_.texts[0].tokens), 0);
}

TEST_F(Bert, MorePositionsThanItHasLearnedAreRefused) {
  EXPECT_EQ(Session(model_).options().context, 160);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { Session(model_, {.context = 161}); }),
            "context: 161 is more than the 160 positions this model has learned");
}

// Then a text may be read in pieces, of which all but the last want nothing and still leave keys and values.
TEST_F(Bert, OneThatReadsFromLeftToRightGivesTheSameInSeveralMicroBatches) {
  const test::TemporaryFolder folder;
  test::write_changed(golden_.file(), folder / "causal.gguf",
                      [](GgufWriter& w) { w.set<bool>("bert.attention.causal", true); });
  const Model model = Model::open(engine_, folder / "causal.gguf");
  ASSERT_TRUE(model.info().causal);
  const EncodedText& text = golden_.texts[0];
  ASSERT_GT(text.tokens.size(), 64);
  const auto last_row = [&](int64_t micro_batch) {
    Session s(model, {.micro_batch = micro_batch});
    return evaluate(s, {text}, Want::kLast, Want::kNothing)[0].hidden;
  };
  EXPECT_EQ(last_row(32), last_row(128));
}

TEST_F(Bert, LogitsAndGenerationAreRefused) {
  Session s(model_);
  const RunRequest run{s.create(), golden_.texts[1].tokens, Want::kLast};
  const std::string refusal = golden_.file() + ": a bert model turns texts into vectors ";
  EXPECT_EQ(error_of(ErrorCode::kUnsupported,
                     [&] {
                       s.evaluate({&run, 1}, [](const ResultRow&) {});
                     }),
            refusal + "and has no output layer that gives next tokens");
  EXPECT_EQ(error_of(ErrorCode::kUnsupported, [&] { generate(s, s.create(), golden_.texts[1].tokens, {}); }),
            golden_.file() + ": a bert model turns texts into vectors; it writes none");
}

}  // namespace
}  // namespace ingle
