// Row need is exact: whatever is asked of a session, in whatever order, the rows that are delivered are the same to the
// last bit whether all rows are computed or only those that somebody needs, and the same as those of each text read
// alone. INGLE_SCHEDULES=N draws N schedules (2000), INGLE_FIRST_SCHEDULE=N begins at another seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "ingle/ingle.h"
#include "tests/models/golden.h"
#include "tests/runtime/schedule_replay.h"

namespace ingle::schedules {
namespace {

const std::vector<std::string> kModels = {"gemma4_ple",   "gemma4_kv_equal", "gemma4_moe",
                                          "gemma3n_tiny", "mistral_window",  "llama_tied"};
// Reading every text alone takes longer than the rest: a part of the schedules.
constexpr uint64_t kAloneEvery = 4;
// Two threads that wait for each other on a busy machine take many times as long as one.
constexpr uint64_t kTwoThreadsEvery = 11;

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

struct Combination {
  std::string isa;
  bool exact;
  int threads;
};

std::vector<Combination> combinations(int threads) {
  std::vector<Combination> all;
  for (const std::string& isa : Engine::isas()) {
    for (const bool exact : {true, false}) all.push_back({isa, exact, threads});
  }
  return all;
}

std::string to_code(const Combination& c, const std::string& model) {
  return fmt::format("// {}, {}, {}, {} thread{}\n", model, c.isa, c.exact ? "exact" : "default", c.threads,
                     c.threads == 1 ? "" : "s");
}

struct Loaded {
  Loaded(const std::string& name, const Combination& c)
      : engine({.threads = c.threads, .isa = c.isa, .exact = c.exact, .log = {}}),
        model(Model::open(engine, golden::path(name + ".gguf"))) {}
  Engine engine;
  Model model;
};

class ScheduleTest : public testing::TestWithParam<std::string> {
 protected:
  const Model& model(const Combination& c) {
    std::unique_ptr<Loaded>& loaded = loaded_[to_code(c, GetParam())];
    if (!loaded) loaded = std::make_unique<Loaded>(GetParam(), c);
    return loaded->model;
  }

  std::map<std::string, std::unique_ptr<Loaded>> loaded_;
};

TEST_P(ScheduleTest, OfDrawnSchedulesEveryDeliveredRowIsTheSame) {
  const uint64_t count = number_from("INGLE_SCHEDULES", 2000), first = number_from("INGLE_FIRST_SCHEDULE", 1);
  const auto mine = static_cast<uint64_t>(std::ranges::find(kModels, GetParam()) - kModels.begin());
  const std::vector<Combination> one = combinations(1), two = combinations(2);
  int64_t schedules = 0, alone = 0, computed = 0, skipped = 0, tokens = 0, rows = 0, late = 0, reused = 0,
          cancelled = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    if (seed % kModels.size() != mine) continue;
    const uint64_t turn = seed / kModels.size();
    const bool in_two = turn % kTwoThreadsEvery == 0;
    const uint64_t round = in_two ? turn / kTwoThreadsEvery : turn;
    const Combination& c = (in_two ? two : one)[round % one.size()];
    const Model& m = model(c);
    const bool alone_too = round / one.size() % kAloneEvery == 0;  // whatever the combination
    const Model* alone_with = alone_too ? &model({c.isa, c.exact, 1}) : nullptr;
    const Schedule schedule = draw_schedule(seed, m.info().layers, m.info().vocabulary);
    const Verdict verdict = judge(m, schedule, alone_with);
    if (!verdict.fault.empty()) {
      const Schedule least =
          shrink(schedule, [&](const Schedule& s) { return !judge(m, s, alone_with).fault.empty(); });
      FAIL() << "seed " << seed << ": " << verdict.fault
             << "\nof its smallest part: " << judge(m, least, alone_with).fault << "\n"
             << to_code(c, GetParam()) << to_code(least);
    }
    ASSERT_EQ(verdict.refused, 0) << "seed " << seed << ": a drawn schedule asks for what can be had\n"
                                  << to_code(c, GetParam()) << to_code(schedule);
    ++schedules;
    alone += alone_too;
    computed += verdict.sparing.computed;
    skipped += verdict.sparing.skipped;
    tokens += verdict.sparing.tokens;
    rows += verdict.rows;
    late += verdict.late;
    reused += verdict.reused;
    cancelled += verdict.cancelled;
  }
  fmt::print("{}: {} schedules ({} also alone) on {} engines, {} tokens, {} of {} layer rows skipped, ", GetParam(),
             schedules, alone, loaded_.size(), tokens, skipped, computed + skipped);
  fmt::print("{} rows compared ({} from position 128 on), {} tokens reused, {} calls cancelled\n", rows, late, reused,
             cancelled);
  if (schedules < 150) return;  // too few for what follows
  EXPECT_EQ(loaded_.size(), one.size() + two.size());
  EXPECT_GT(skipped, 0);
  EXPECT_GT(late, 0);
  EXPECT_GT(reused, 0);
  EXPECT_GT(cancelled, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, ScheduleTest, testing::ValuesIn(kModels), [](const auto& info) { return info.param; });

// --- rows counted by hand

// gemma4_ple has 7 layers; 0 to 3 write keys and values, 4 to 6 read those of others. In layer 3 all rows are projected
// to keys and values, and only wanted ones go on.
class RowsOfGemma4 : public testing::Test {
 protected:
  Session session(SessionOptions options = {}) {
    options.context = 64;
    options.sequences = 3;
    return Session(loaded_.model, options);
  }
  // Prompts of 5 and 4 tokens and a single one: 10 tokens, of which nothing, the last and the only one are wanted.
  static std::vector<int64_t> rows_of_three(Session& s, Want first_wants = Want::kNothing) {
    const std::vector<TokenId> five = {1, 2, 3, 4, 5}, four = {6, 7, 8, 9}, one = {10};
    const RunRequest runs[] = {
        {s.create(), five, first_wants}, {s.create(), four, Want::kLast}, {s.create(), one, Want::kLast}};
    s.evaluate(runs, [](const ResultRow&) {});
    return s.rows().by_layer;
  }
  using Rows = std::vector<int64_t>;
  Loaded loaded_{"gemma4_ple", {.isa = "", .exact = true, .threads = 1}};
};

TEST_F(RowsOfGemma4, AfterTheLastWriterOnlyWantedRowsAreComputed) {
  Session s = session();
  EXPECT_EQ(rows_of_three(s), (Rows{10, 10, 10, 2, 2, 2, 2}));
  EXPECT_EQ(s.rows().computed, 38);
  EXPECT_EQ(s.rows().skipped, 32);
  EXPECT_EQ(s.rows().tokens, 10);
}

TEST_F(RowsOfGemma4, AllRowsOfAPromptAreComputedWhereAllAreWanted) {
  Session s = session();
  EXPECT_EQ(rows_of_three(s, Want::kAll), (Rows{10, 10, 10, 7, 7, 7, 7}));
}

// Micro-batches of 3, 2 and 1 rows and of 2 and 2: no row is computed twice and none more is needed.
TEST_F(RowsOfGemma4, MicroBatchesNeedTheSameRows) {
  Session s = session({.micro_batch = 6});
  EXPECT_EQ(rows_of_three(s), (Rows{10, 10, 10, 2, 2, 2, 2}));
}

TEST_F(RowsOfGemma4, APromptOfWhichNothingIsWantedEndsAtTheLastWriter) {
  Session s = session();
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5};
  const RunRequest run{s.create(), prompt, Want::kNothing};
  s.evaluate({&run, 1}, {});
  EXPECT_EQ(s.rows().by_layer, (Rows{5, 5, 5, 0, 0, 0, 0}));
}

TEST_F(RowsOfGemma4, WhereHiddenRowsAreWantedTheyAreComputedLikeLogits) {
  Session s = session();
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5};
  const RunRequest run{s.create(), prompt, Want::kLast, Want::kAll};
  s.evaluate({&run, 1}, [](const ResultRow& row) { EXPECT_EQ(row.logits.empty(), row.position != 4); });
  EXPECT_EQ(s.rows().by_layer, (Rows{5, 5, 5, 5, 5, 5, 5}));
}

TEST_F(RowsOfGemma4, ATapPutsTheCropOffToItsLayer) {
  Session s = session();
  int64_t tapped = 0;
  s.set_tap({1, 5}, [&](const TappedRows& rows) { tapped += rows.layer == 5 ? std::ssize(rows.hidden) / 40 : 0; });
  EXPECT_EQ(rows_of_three(s), (Rows{10, 10, 10, 10, 10, 2, 2}));
  EXPECT_EQ(tapped, 10);
}

TEST_F(RowsOfGemma4, EveryRowMeansAllOfThem) {
  Session s = session({.every_row = true});
  EXPECT_EQ(rows_of_three(s), (Rows{10, 10, 10, 10, 10, 10, 10}));
  EXPECT_EQ(s.rows().skipped, 0);
}

// --- the test itself

TEST(Schedules, ASeedAlwaysDrawsTheSame) {
  EXPECT_EQ(to_code(draw_schedule(7, 5, 133)), to_code(draw_schedule(7, 5, 133)));
  EXPECT_NE(to_code(draw_schedule(7, 5, 133)), to_code(draw_schedule(8, 5, 133)));
}

TEST(Schedules, AreWrittenAsTheCodeThatMakesThem) {
  Schedule s{.cache_k = "f16", .cache_v = "q8_0", .batch = 9, .micro_batch = 5, .taps = {2}};
  s.create(0);
  s.reuse_prefix(1, {4, 5});
  s.evaluate({{0, {1, 2}, Want::kAll, Want::kNothing}, {1, {3}, Want::kLast, Want::kAll}}, 2);
  s.fork(2, 0);
  s.truncate(2, 1);
  s.release(0);
  EXPECT_EQ(to_code(s),
            "Schedule s{.cache_k = \"f16\", .cache_v = \"q8_0\", .batch = 9, .micro_batch = 5, .taps = {2}};\n"
            "s.create(0);\n"
            "s.reuse_prefix(1, {4, 5});\n"
            "s.evaluate({{0, {1, 2}, Want::kAll, Want::kNothing}, {1, {3}, Want::kLast, Want::kAll}}, 2);\n"
            "s.fork(2, 0);\n"
            "s.truncate(2, 1);\n"
            "s.release(0);\n");
}

// An artificial fault: something is wrong after a fork whose sequence is then given three tokens or more at once.
bool forked_sequence_gets_three_tokens(const Schedule& s) {
  std::vector<int> forked;
  for (const Step& step : s.steps) {
    if (step.kind == Step::Kind::kFork) forked.push_back(step.sequence);
    for (const Run& run : step.runs) {
      if (std::ranges::count(forked, run.sequence) > 0 && run.tokens.size() >= 3) return true;
    }
  }
  return false;
}

TEST(Schedules, ShrinkToTheStepsThatAFaultTakes) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Schedule drawn = draw_schedule(seed, 5, 133);
    if (!forked_sequence_gets_three_tokens(drawn)) continue;
    ++found;
    const Schedule least = shrink(drawn, forked_sequence_gets_three_tokens);
    ASSERT_EQ(least.steps.size(), 2u) << to_code(drawn) << "\n" << to_code(least);
    EXPECT_EQ(least.steps[0].kind, Step::Kind::kFork);
    ASSERT_EQ(least.steps[1].runs.size(), 1u);
    const auto& run = least.steps[1].runs[0];
    EXPECT_EQ(run.sequence, least.steps[0].sequence);
    EXPECT_EQ(run.tokens.size(), 3u);
    EXPECT_EQ(run.want, Want::kNothing);
    EXPECT_EQ(run.hidden, Want::kNothing);
    EXPECT_TRUE(least.taps.empty());
  }
  EXPECT_GT(found, 5);
}

// The fault needs the machine: a sequence that has come to more than 70 tokens and has a hidden row wanted.
TEST(Schedules, ShrinkWhileTheyAreCarriedOut) {
  const Loaded loaded("llama_tied", {.isa = "", .exact = true, .threads = 1});
  const auto fails = [&](const Schedule& s) {
    const Outcome outcome = replay(loaded.model, s, false);
    return std::ranges::any_of(outcome.rows, [](const Row& r) { return r.position >= 70 && !r.hidden.empty(); });
  };
  for (uint64_t seed = 1;; ++seed) {
    ASSERT_LT(seed, 200u) << "no drawn schedule gets that far";
    Schedule drawn = draw_schedule(seed, loaded.model.info().layers, loaded.model.info().vocabulary);
    drawn.taps.clear();
    if (!fails(drawn)) continue;
    const Schedule least = shrink(drawn, fails);
    size_t tokens = 0, wishes = 0;
    for (const Step& step : least.steps) {
      for (const auto& run : step.runs) {
        tokens += run.tokens.size();
        wishes += (run.want != Want::kNothing) + (run.hidden != Want::kNothing);
      }
    }
    EXPECT_LE(tokens, 71u) << to_code(least);
    EXPECT_EQ(wishes, 1u) << to_code(least);
    return;
  }
}

TEST(Schedules, ShrinkingStopsAfterSoManyTries) {
  int asked = 0;
  shrink(
      draw_schedule(3, 5, 133),
      [&](const Schedule&) {
        ++asked;
        return false;
      },
      4);
  EXPECT_EQ(asked, 4);
}

// The comparison is not blind: another cache type, other wishes, one bit.
TEST(Schedules, ADifferenceIsSeen) {
  const Loaded loaded("gemma4_ple", {.isa = "", .exact = true, .threads = 1});
  Schedule s{.taps = {2}};
  s.create(0).evaluate({{0, {1, 2, 3, 4}, Want::kLast, Want::kAll}}).evaluate({{0, {5, 6}, Want::kAll}});
  const Outcome outcome = replay(loaded.model, s, false);
  EXPECT_EQ(difference(outcome, replay(loaded.model, s, true)), "");
  EXPECT_EQ(outcome.rows.size(), 4u + 4u + 2u + 2u + 1u + 1u);  // tapped and delivered, three times
  Schedule coarse = s;
  coarse.cache_k = "q8_0";
  EXPECT_NE(difference(outcome, replay(loaded.model, coarse, true)), "");
  Schedule shorter = s;
  shorter.steps[1].runs[0].tokens.pop_back();
  EXPECT_NE(difference(outcome, replay(loaded.model, shorter, false)), "");
  Outcome bit = outcome;
  bit.rows.back().logits.back() = std::nextafter(bit.rows.back().logits.back(), 1e9f);
  EXPECT_NE(difference(outcome, bit).find("logit 132"), std::string::npos) << difference(outcome, bit);
  EXPECT_NE(differs_from_reading_alone(loaded.model, s, bit), "");
  Outcome note = outcome;
  note.notes.emplace_back("refused");
  EXPECT_NE(difference(outcome, note), "");
}

}  // namespace
}  // namespace ingle::schedules
