// Generation on a tiny golden model: it babbles, but the same way every time.
#include "ingle/generate.h"

#include <gtest/gtest.h>

#include "ingle/ingle.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

class Generate : public testing::Test {
 protected:
  Generate()
      : data_(golden::load("llama_wide")),
        engine_({.threads = 1, .isa = {}, .exact = true, .log = {}}),
        model_(Model::open(engine_, data_.file())),
        prompt_(data_.prompts[1].tokens) {}

  Session session(int64_t context = 256) const { return Session(model_, {.context = context, .sequences = 2}); }
  static GenerateOptions greedy(int64_t max_tokens) {
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = max_tokens;
    options.ignore_end = true;
    return options;
  }
  // Greedy tokens by hand: the largest logit, one evaluate() after another.
  std::vector<TokenId> by_hand(int count) const {
    Session s = session();
    const SequenceId id = s.create();
    std::vector<TokenId> next = prompt_, out;
    for (int i = 0; i < count; ++i) {
      const RunRequest run{id, next, Want::kLast};
      TokenId best = 0;
      s.evaluate({&run, 1}, [&](const ResultRow& row) {
        best = static_cast<TokenId>(std::ranges::max_element(row.logits) - row.logits.begin());
      });
      out.push_back(best);
      next = {best};
    }
    return out;
  }

  golden::Golden data_;
  Engine engine_;
  Model model_;
  std::vector<TokenId> prompt_;
};

TEST_F(Generate, GreedyTokensAreTheLargestLogits) {
  Session s = session();
  const Generation g = generate(s, s.create(), prompt_, greedy(30));
  EXPECT_EQ(g.tokens, by_hand(30));
  EXPECT_EQ(g.finish, FinishReason::kLength);
  EXPECT_EQ(g.prompt_tokens, static_cast<int64_t>(prompt_.size()));
  EXPECT_EQ(g.reused_tokens, 0);
  EXPECT_EQ(g.text, model_.detokenize(g.tokens));
}

TEST_F(Generate, TheSameSeedGivesTheSameText) {
  GenerateOptions options = greedy(40);
  options.sampling.temperature = 1.5f;
  options.sampling.seed = 7;
  Session s = session();
  const Generation a = generate(s, s.create(), prompt_, options);
  const Generation b = generate(s, s.create(), prompt_, options);
  EXPECT_EQ(a.tokens, b.tokens);
  options.sampling.seed = 8;
  EXPECT_NE(generate(s, s.create(), prompt_, options).tokens, a.tokens);
}

TEST_F(Generate, TextComesInPiecesThatAddUp) {
  GenerateOptions options = greedy(20);
  std::string pieces;
  options.on_text = [&](std::string_view text) {
    pieces += text;
    return true;
  };
  Session s = session();
  EXPECT_EQ(generate(s, s.create(), prompt_, options).text, pieces);
  EXPECT_FALSE(pieces.empty());
}

TEST_F(Generate, AStopStringEndsItAndIsNotShown) {
  Session s = session();
  const std::string whole = generate(s, s.create(), prompt_, greedy(40)).text;
  ASSERT_GT(whole.size(), 20u);
  const std::string stop = whole.substr(10, 4);
  GenerateOptions options = greedy(40);
  options.stops = {"never this", stop};
  const Generation g = generate(s, s.create(), prompt_, options);
  EXPECT_EQ(g.finish, FinishReason::kStopString);
  EXPECT_EQ(g.text, whole.substr(0, whole.find(stop)));
}

TEST_F(Generate, AnEndTokenEndsItUnlessIgnored) {
  GenerateOptions options = greedy(10);
  options.sampling.logit_bias = {{2, 1000.0f}};  // <|im_end|>
  options.ignore_end = false;
  Session s = session();
  const Generation g = generate(s, s.create(), prompt_, options);
  EXPECT_EQ(g.finish, FinishReason::kEndOfGeneration);
  EXPECT_EQ(g.tokens, (std::vector<TokenId>{2}));
  EXPECT_EQ(g.text, "");
  options.ignore_end = true;
  EXPECT_EQ(generate(s, s.create(), prompt_, options).tokens.size(), 10u);
}

TEST_F(Generate, TheReaderCanCancelAndTheSequenceGoesOn) {
  GenerateOptions options = greedy(30);
  int pieces = 0;
  options.on_text = [&](std::string_view) { return ++pieces < 5; };
  Session s = session();
  const SequenceId id = s.create();
  const Generation cut = generate(s, id, prompt_, options);
  EXPECT_EQ(cut.finish, FinishReason::kCancelled);
  EXPECT_LT(cut.tokens.size(), 30u);
  EXPECT_EQ(generate(s, id, prompt_, greedy(30)).tokens, by_hand(30));
}

TEST_F(Generate, CancellingWhileReadingThePromptLeavesAnEmptyAnswer) {
  Session s(model_, {.context = 256, .micro_batch = 2});
  const SequenceId id = s.create();
  int asked = 0;
  s.set_cancel([&] { return ++asked > 2; });
  const Generation g = generate(s, id, prompt_, greedy(5));
  EXPECT_EQ(g.finish, FinishReason::kCancelled);
  EXPECT_TRUE(g.tokens.empty());
  EXPECT_EQ(s.length(id), 0);
  s.set_cancel({});
  EXPECT_EQ(generate(s, id, prompt_, greedy(5)).tokens, by_hand(5));
}

TEST_F(Generate, AFullContextEndsIt) {
  Session s = session(20);
  const Generation g = generate(s, s.create(), prompt_, greedy(-1));
  EXPECT_EQ(g.finish, FinishReason::kContextFull);
  // The last token was sampled from the row of the last position; there is no place to read it.
  EXPECT_EQ(static_cast<int64_t>(prompt_.size() + g.tokens.size()), 20 + 1);
}

TEST_F(Generate, TheNextTurnReadsOnlyWhatIsNew) {
  Session s = session();
  const SequenceId id = s.create();
  const Generation first = generate(s, id, prompt_, greedy(10));
  std::vector<TokenId> second = prompt_;
  second.insert(second.end(), first.tokens.begin(), first.tokens.end());
  second.insert(second.end(), {5, 6, 7});
  const Generation g = generate(s, id, second, greedy(10));
  EXPECT_EQ(g.reused_tokens, static_cast<int64_t>(prompt_.size()) + 9);  // the tenth was never read
  Session fresh = session();
  EXPECT_EQ(generate(fresh, fresh.create(), second, greedy(10)).tokens, g.tokens);
}

TEST_F(Generate, AnEditedTurnSaysWhereItDiffers) {
  Session s = session();
  const SequenceId id = s.create();
  generate(s, id, prompt_, greedy(3));
  std::vector<TokenId> edited = prompt_;
  edited[4] = edited[4] == 9 ? 10 : 9;
  const Generation g = generate(s, id, edited, greedy(3));
  EXPECT_EQ(g.reused_tokens, 4);
  EXPECT_EQ(s.last_reuse().difference, 4);
  EXPECT_EQ(s.last_reuse().wanted, edited[4]);
}

TEST_F(Generate, ANewSequenceFindsAReleasedOnesText) {
  Session s = session();
  const SequenceId id = s.create();
  const std::vector<TokenId>& text = data_.prompts[0].tokens;  // 70 tokens: one block and six
  const std::vector<TokenId> expected = generate(s, id, text, greedy(8)).tokens;
  s.release(id);
  const Generation again = generate(s, s.create(), text, greedy(8));
  EXPECT_EQ(again.reused_tokens, 69);
  EXPECT_EQ(again.tokens, expected);
}

TEST_F(Generate, ImpossibleRequestsAreRefused) {
  Session s = session(8);
  const SequenceId id = s.create();
  const auto code = [&](std::vector<TokenId> prompt, GenerateOptions options, std::string* message = nullptr) {
    try {
      generate(s, id, prompt, options);
    } catch (const Error& e) {
      if (message != nullptr) *message = e.what();
      return e.code();
    }
    return ErrorCode::kInternal;
  };
  std::string message;
  EXPECT_EQ(code(std::vector<TokenId>(9, 5), greedy(1), &message), ErrorCode::kInvalidArgument);
  EXPECT_NE(message.find("9"), std::string::npos);
  EXPECT_NE(message.find("8"), std::string::npos);
  EXPECT_EQ(code({}, greedy(1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({500}, greedy(1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({5}, greedy(-2)), ErrorCode::kInvalidArgument);
  GenerateOptions hot = greedy(1);
  hot.sampling.temperature = -1;
  EXPECT_EQ(code({5}, hot), ErrorCode::kInvalidArgument);
  GenerateOptions empty_stop = greedy(1);
  empty_stop.stops = {""};
  EXPECT_EQ(code({5}, empty_stop), ErrorCode::kInvalidArgument);
  EXPECT_EQ(s.length(id), 0);
}

TEST_F(Generate, NoTokensWantedReadsThePromptOnly) {
  Session s = session();
  const SequenceId id = s.create();
  const Generation g = generate(s, id, prompt_, greedy(0));
  EXPECT_EQ(g.finish, FinishReason::kLength);
  EXPECT_TRUE(g.tokens.empty());
  EXPECT_EQ(s.length(id), static_cast<int64_t>(prompt_.size()));
}

}  // namespace
}  // namespace ingle
