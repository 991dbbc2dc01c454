// Every architecture against an independent implementation: every position's logits, whichever way the tokens came in.
#include <gtest/gtest.h>

#include <random>

#include "ingle/ingle.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

using golden::Golden;
using golden::Prompt;
using golden::read;
using golden::relative_error;
using golden::Rows;
using golden::slice;

// f32 against f32: both are off by a few units in the last place times the depth of the model.
constexpr double kExactBound = 1e-5;
// An f16 cache keeps 11 bits: 2^-11 per key and value, averaged over a sum.
constexpr double kHalfCacheBound = 3e-3;
// q8_0 keeps 8 bits per block of 32.
constexpr double kByteCacheBound = 5e-2;
// f16 weights and an f16 cache without int8 anywhere: these models have no quantised weights.
constexpr double kDefaultBound = 5e-3;
// Where weights are quantised their products take 8 bits of what they multiply.
constexpr double kQuantizedBound = 3e-2;

struct Case {
  std::string model, isa;
};

std::vector<Case> all_cases(bool long_text = false) {
  std::vector<Case> cases;
  for (const std::string& model : golden::names()) {
    if (long_text && golden::load(model).long_prompts.empty()) continue;
    for (const std::string& isa : Engine::isas()) cases.push_back({model, isa});
  }
  return cases;
}

class GoldenModel : public testing::TestWithParam<Case> {
 protected:
  GoldenModel()
      : golden_(golden::load(GetParam().model)),
        engine_({.threads = 1, .isa = GetParam().isa, .exact = true, .log = {}}),
        model_(Model::open(engine_, golden_.file())) {}

  Session session(SessionOptions options = {}) const {
    options.context = options.context == 0 ? 256 : options.context;
    options.sequences = std::max<int64_t>(options.sequences, 4);
    return Session(model_, options);
  }
  static void expect_rows(const Rows& rows, const Prompt& prompt, double bound, size_t first = 0) {
    double worst = 0;
    for (size_t p = first; p < prompt.tokens.size(); ++p) {
      ASSERT_EQ(rows[p].size(), prompt.logits[p].size()) << "position " << p;
      const double error = relative_error(rows[p], prompt.logits[p]);
      worst = std::max(worst, error);
      ASSERT_LE(error, bound) << "position " << p;
    }
    RecordProperty("worst", std::to_string(worst));
  }

  Golden golden_;
  Engine engine_;
  Model model_;
};

TEST_P(GoldenModel, GivesTheReferenceLogitsForAPromptInOneBatch) {
  Session s = session();
  for (const Prompt& prompt : golden_.prompts) {
    Rows rows;
    read(s, s.create(), prompt.tokens, rows);
    expect_rows(rows, prompt, kExactBound);
  }
}

TEST_P(GoldenModel, GivesTheReferenceLogitsWithItsWeightsInTheMappedFile) {
  const Model mapped = Model::open(engine_, golden_.file(), {.weights = WeightMemory::kMapped});
  Session s(mapped, {.context = 256});
  const Prompt& prompt = golden_.prompts.front();
  Rows rows;
  read(s, s.create(), prompt.tokens, rows);
  expect_rows(rows, prompt, kExactBound);
}

TEST_P(GoldenModel, GivesTheSameInRaggedPieces) {
  Session s = session({.micro_batch = 11});
  for (const Prompt& prompt : golden_.prompts) {
    std::mt19937 random(7);
    Rows rows;
    const SequenceId id = s.create();
    for (size_t at = 0; at < prompt.tokens.size();) {
      const size_t next = std::min(prompt.tokens.size(), at + 1 + random() % 17);
      read(s, id, slice(prompt.tokens, at, next), rows);
      at = next;
    }
    expect_rows(rows, prompt, kExactBound);
  }
}

TEST_P(GoldenModel, GivesTheSameTokenByToken) {
  Session s = session();
  for (const Prompt& prompt : golden_.prompts) {
    Rows rows;
    const SequenceId id = s.create();
    for (TokenId token : prompt.tokens) read(s, id, {&token, 1}, rows);
    expect_rows(rows, prompt, kExactBound);
  }
}

// Where angles are large multiples of their frequencies, and sliding layers have let go of most of the text.
class LongText : public GoldenModel {};

TEST_P(LongText, GivesTheReferenceLogitsFarIntoIt) {
  for (const golden::LongPrompt& prompt : golden_.long_prompts) {
    const size_t length = prompt.tokens.size(), first = static_cast<size_t>(prompt.rows_from);
    Session s = session({.context = static_cast<int64_t>(length), .sequences = 1});
    const SequenceId id = s.create();
    Rows rows;
    read(s, id, slice(prompt.tokens, 0, first), rows, Want::kNothing);
    read(s, id, slice(prompt.tokens, first, length), rows);
    for (size_t i = 0; i < prompt.logits.size(); ++i)
      ASSERT_LE(relative_error(rows[first + i], prompt.logits[i]), kExactBound) << "position " << first + i;
  }
}

TEST_P(GoldenModel, GivesTheSameAmongOtherSequences) {
  Session s = session({.sequences = 6, .micro_batch = 16});
  const Prompt& prompt = golden_.prompts.front();
  const SequenceId before = s.create(), id = s.create(), after = s.create();
  std::mt19937 random(3);
  std::vector<TokenId> noise(prompt.tokens.size());
  for (TokenId& token : noise) token = static_cast<TokenId>(random() % static_cast<uint32_t>(golden_.vocab));
  Rows rows(256);
  for (size_t at = 0; at < prompt.tokens.size();) {
    const size_t next = std::min(prompt.tokens.size(), at + 1 + random() % 13);
    const std::vector<TokenId> tokens = slice(prompt.tokens, at, next);
    const std::vector<TokenId> first = slice(noise, at, at + 1), last = slice(noise, at, next);
    const RunRequest runs[] = {{before, first, Want::kAll}, {id, tokens, Want::kAll}, {after, last, Want::kNothing}};
    s.evaluate(runs, [&](const ResultRow& row) {
      if (row.run == 1) rows[static_cast<size_t>(row.position)].assign(row.logits.begin(), row.logits.end());
    });
    at = next;
  }
  expect_rows(rows, prompt, kExactBound);
}

TEST_P(GoldenModel, GivesTheSameAfterForkTruncateAndRegrow) {
  Session s = session({.sequences = 8});
  const Prompt& prompt = golden_.prompts.front();
  const size_t n = prompt.tokens.size();
  Rows rows;
  const SequenceId original = s.create();
  read(s, original, slice(prompt.tokens, 0, n - 2), rows, Want::kNothing);
  const SequenceId fork = s.fork(original);
  // The fork goes astray; the original must not notice, and the fork must find back.
  std::vector<TokenId> astray(20, 5);
  Rows ignored;
  read(s, fork, astray, ignored, Want::kLast);
  Rows tail;
  read(s, original, slice(prompt.tokens, n - 2, n), tail);
  expect_rows(tail, prompt, kExactBound, n - 2);
  const size_t cut = n / 3;
  s.truncate(fork, static_cast<int64_t>(cut));
  Rows regrown;
  read(s, fork, slice(prompt.tokens, cut, n), regrown);
  expect_rows(regrown, prompt, kExactBound, cut);
}

TEST_P(GoldenModel, GivesTheSameFromAReusedPrefix) {
  Session s = session({.sequences = 8});
  const Prompt& prompt = golden_.prompts.front();
  const size_t n = prompt.tokens.size();
  Rows ignored, rows;
  const SequenceId first = s.create();
  read(s, first, slice(prompt.tokens, 0, n - 1), ignored, Want::kNothing);
  const SequenceId second = s.create();
  const auto reused = static_cast<size_t>(s.reuse_prefix(second, prompt.tokens));
  // Behind a window the first blocks may be gone, and with them the whole prefix.
  EXPECT_EQ(reused, n - 1);
  read(s, second, slice(prompt.tokens, reused, n), rows);
  expect_rows(rows, prompt, kExactBound, reused);
}

TEST_P(GoldenModel, StaysCloseWithASmallerCache) {
  for (const auto& [type, bound] : {std::pair{"f16", kHalfCacheBound}, std::pair{"q8_0", kByteCacheBound}}) {
    Session s = session({.cache_type_k = type, .cache_type_v = type});
    const Prompt& prompt = golden_.prompts.front();
    Rows rows;
    read(s, s.create(), prompt.tokens, rows);
    expect_rows(rows, prompt, bound);
  }
}

TEST_P(GoldenModel, StaysCloseInDefaultPrecision) {
  Engine engine({.threads = 1, .isa = GetParam().isa, .exact = false, .log = {}});
  const Model model = Model::open(engine, golden_.file());
  Session s(model, {.context = 256});
  const Prompt& prompt = golden_.prompts.front();
  Rows rows;
  read(s, s.create(), prompt.tokens, rows);
  expect_rows(rows, prompt, golden_.quantized ? kQuantizedBound : kDefaultBound);
}

// Which rows are wanted decides what is computed, never what it is.
TEST_P(GoldenModel, WantedRowsAreEqualToTheBitWhateverElseIsWanted) {
  for (bool exact : {true, false}) {
    Engine engine({.threads = 1, .isa = GetParam().isa, .exact = exact, .log = {}});
    const Model model = Model::open(engine, golden_.file());
    const std::vector<TokenId>& tokens = golden_.prompts.front().tokens;
    Session everything(model, {.context = 256, .every_row = true});
    Rows all;
    read(everything, everything.create(), tokens, all);
    Session sparing(model, {.context = 256});
    std::mt19937 random(11);
    Rows some;
    const SequenceId id = sparing.create();
    for (size_t at = 0; at < tokens.size();) {
      const size_t next = std::min(tokens.size(), at + 1 + random() % 29);
      const Want want = static_cast<Want>(random() % 3);
      read(sparing, id, slice(tokens, at, next), some, want);
      at = next;
    }
    size_t compared = 0;
    for (size_t p = 0; p < tokens.size(); ++p) {
      if (some[p].empty()) continue;
      ++compared;
      EXPECT_EQ(some[p], all[p]) << "position " << p << (exact ? ", exact" : ", default");
    }
    EXPECT_GT(compared, 0u);
    EXPECT_GT(sparing.rows().skipped, 0);
    EXPECT_EQ(everything.rows().skipped, 0);
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.model + "_" + info.param.isa; }

INSTANTIATE_TEST_SUITE_P(Every, GoldenModel, testing::ValuesIn(all_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Every, LongText, testing::ValuesIn(all_cases(true)), name_of);

}  // namespace
}  // namespace ingle
