#include "runtime/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"

namespace ingle {
namespace {

// A layout whose blocks hold one 4-byte stamp per position: what a test writes there, it must find again.
KvGroupOptions group(int32_t blocks, int32_t window = 0) {
  KvLayout layout{.k_type = DType::kF32,
                  .v_type = DType::kF32,
                  .kv_heads = 1,
                  .k_dim = 1,
                  .v_dim = 1,
                  .k_bytes = 256,
                  .v_bytes = 256};
  return {.layout = layout, .layers = 1, .window = window, .blocks = blocks};
}

constexpr int64_t kContext = 640;

class Cache {
 public:
  explicit Cache(std::vector<KvGroupOptions> groups) : cache(std::move(groups), kContext, 4) {}

  // Appends tokens, and writes for each position what attention would: a stamp of the whole history.
  void append(int32_t id, std::span<const int32_t> tokens) {
    const KvCache::Append a{id, static_cast<int64_t>(tokens.size())};
    cache.prepare({&a, 1});
    uint32_t history = stamp(cache.tokens(id).first(static_cast<size_t>(cache.computed(id))));
    int64_t position = cache.computed(id);
    for (int32_t token : tokens) {
      history = next_stamp(history, token);
      for (size_t g = 0; g < cache.groups(); ++g) *place(id, g, position) = history;
      ++position;
    }
    cache.commit(id, tokens);
  }
  void append(int32_t id, int count, int32_t first_token) {
    std::vector<int32_t> tokens(static_cast<size_t>(count));
    std::iota(tokens.begin(), tokens.end(), first_token);
    append(id, tokens);
  }
  static uint32_t next_stamp(uint32_t before, int32_t token) {
    return (before ^ static_cast<uint32_t>(token)) * 16777619u;
  }
  static uint32_t stamp(std::span<const int32_t> history) {
    return std::accumulate(history.begin(), history.end(), 17u, next_stamp);
  }
  uint32_t* place(int32_t id, size_t g, int64_t position) {
    const int32_t block = cache.table(id, g)[static_cast<size_t>(position / 64)];
    return reinterpret_cast<uint32_t*>(cache.base(g) + static_cast<size_t>(block) * 512) + position % 64;
  }
  // Every position a next query could see holds the stamp of its history.
  void expect_intact(int32_t id) {
    const std::span<const int32_t> tokens = cache.tokens(id);
    for (size_t g = 0; g < cache.groups(); ++g) {
      const int64_t window = cache.group(g).window;
      const int64_t first = window == 0 ? 0 : std::max<int64_t>(0, cache.computed(id) - window + 1);
      uint32_t history = stamp(tokens.first(static_cast<size_t>(first)));
      for (int64_t p = first; p < cache.computed(id); ++p) {
        history = next_stamp(history, tokens[static_cast<size_t>(p)]);
        ASSERT_GE(cache.table(id, g)[static_cast<size_t>(p / 64)], 0) << "position " << p;
        ASSERT_EQ(*place(id, g, p), history) << "position " << p;
      }
    }
  }
  KvCache cache;
};

ErrorCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::kInternal;
}

std::vector<int32_t> sequence_of(int count, int32_t first = 0) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(KvCache, AForkSharesEveryBlockAndCopiesOnlyTheOneItWritesTo) {
  Cache c({group(10)});
  const int32_t a = c.cache.create();
  c.append(a, 100, 0);
  EXPECT_EQ(c.cache.pool(0).in_use(), 2);
  const int32_t b = c.cache.fork(a);
  EXPECT_EQ(c.cache.pool(0).in_use(), 2);
  EXPECT_EQ(c.cache.pool(0).references(c.cache.table(a, 0)[0]), 2);
  c.append(b, 3, 500);
  EXPECT_EQ(c.cache.pool(0).in_use(), 3);
  EXPECT_EQ(c.cache.table(a, 0)[0], c.cache.table(b, 0)[0]);
  EXPECT_NE(c.cache.table(a, 0)[1], c.cache.table(b, 0)[1]);
  c.append(a, 3, 900);  // its own again, no copy
  EXPECT_EQ(c.cache.pool(0).in_use(), 3);
  c.expect_intact(a);
  c.expect_intact(b);
}

TEST(KvCache, TheLastSharerNeedsNoCopy) {
  Cache c({group(3)});
  const int32_t a = c.cache.create();
  c.append(a, 70, 0);
  const int32_t b = c.cache.fork(a);
  // Both append in one step: one copy, and the budget of three blocks is exactly enough.
  const KvCache::Append both[] = {{a, 1}, {b, 1}};
  c.cache.prepare(both);
  EXPECT_EQ(c.cache.pool(0).in_use(), 3);
  EXPECT_NE(c.cache.table(a, 0)[1], c.cache.table(b, 0)[1]);
}

TEST(KvCache, ABudgetThatIsTooSmallIsAnErrorThatChangesNothing) {
  Cache c({group(3), group(2)});
  const int32_t a = c.cache.create();
  c.append(a, 64, 0);
  const auto grow = [&] {
    const KvCache::Append too_much{a, 65};  // two more blocks, the second group has one
    c.cache.prepare({&too_much, 1});
  };
  EXPECT_EQ(code_of(grow), ErrorCode::kOutOfMemory);
  EXPECT_EQ(c.cache.computed(a), 64);
  EXPECT_EQ(c.cache.table(a, 0).size(), 1u);
  EXPECT_EQ(c.cache.pool(0).in_use(), 1);
  c.append(a, 64, 100);
  c.expect_intact(a);
  EXPECT_EQ(c.cache.budget_bytes(), 5u * 512);
}

TEST(KvCache, AnAbandonedStepGivesItsBlocksBack) {
  Cache c({group(4)});
  const int32_t a = c.cache.create();
  c.append(a, 10, 0);
  const KvCache::Append step{a, 150};
  c.cache.prepare({&step, 1});
  EXPECT_EQ(c.cache.pool(0).in_use(), 3);
  c.cache.abandon(a);
  EXPECT_EQ(c.cache.pool(0).in_use(), 1);
  c.expect_intact(a);
}

TEST(KvCache, AReleasedSequencesContentIsFoundAgainUntilTheMemoryIsNeeded) {
  Cache c({group(4)});
  const std::vector<int32_t> prompt = sequence_of(150);
  const int32_t a = c.cache.create();
  c.append(a, prompt);
  c.cache.release(a);
  EXPECT_EQ(c.cache.pool(0).in_use(), 0);

  const int32_t b = c.cache.create();
  EXPECT_EQ(c.cache.reuse_prefix(b, prompt, 149).reused, 149);  // two full blocks, and 21 positions copied
  c.expect_intact(b);
  c.cache.release(b);

  const int32_t d = c.cache.create();
  c.append(d, 64 * 3, 1000);  // takes the free block and the two least recently used ones
  const int32_t e = c.cache.create();
  const PrefixReuse reuse = c.cache.reuse_prefix(e, prompt, 149);
  EXPECT_EQ(reuse.reused, 64);
  c.expect_intact(d);
  c.expect_intact(e);
}

TEST(KvCache, APrefixIsSharedWhileItsSequenceStillRuns) {
  Cache c({group(10)});
  const std::vector<int32_t> prompt = sequence_of(150);
  const int32_t a = c.cache.create();
  c.append(a, prompt);
  std::vector<int32_t> other = prompt;
  other[140] = 77;
  const int32_t b = c.cache.create();
  const PrefixReuse reuse = c.cache.reuse_prefix(b, other, 149);
  EXPECT_EQ(reuse.reused, 140);
  EXPECT_EQ(c.cache.table(a, 0)[1], c.cache.table(b, 0)[1]);
  EXPECT_NE(c.cache.table(a, 0)[2], c.cache.table(b, 0)[2]);
  ASSERT_TRUE(reuse.difference);
  EXPECT_EQ(reuse.difference->position, 140);
  EXPECT_EQ(reuse.difference->cached, 140);
  EXPECT_EQ(reuse.difference->wanted, 77);
  c.append(b, std::span(other).subspan(140));
  c.append(a, 10, 300);
  c.expect_intact(a);
  c.expect_intact(b);
}

TEST(KvCache, AMissSaysWhereTheTextsPart) {
  Cache c({group(10)});
  const int32_t a = c.cache.create();
  EXPECT_FALSE(c.cache.reuse_prefix(a, sequence_of(20), 19).difference);  // nothing there to differ from
  c.append(a, 100, 0);
  std::vector<int32_t> other = sequence_of(100);
  other[0] = 42;
  const int32_t b = c.cache.create();
  const PrefixReuse reuse = c.cache.reuse_prefix(b, other, 99);
  EXPECT_EQ(reuse.reused, 0);
  ASSERT_TRUE(reuse.difference);
  EXPECT_EQ(reuse.difference->position, 0);
  EXPECT_EQ(reuse.difference->wanted, 42);
}

TEST(KvCache, ReuseStopsAtItsLimitAndNeedsAnEmptySequence) {
  Cache c({group(10)});
  const int32_t a = c.cache.create();
  c.append(a, 128, 0);
  const int32_t b = c.cache.create();
  EXPECT_EQ(c.cache.reuse_prefix(b, sequence_of(128), 127).reused, 127);
  EXPECT_EQ(code_of([&] { c.cache.reuse_prefix(b, sequence_of(128), 127); }), ErrorCode::kInvalidArgument);
}

TEST(KvCache, TruncatingIntoASharedBlockAndWritingLeavesTheOtherAlone) {
  Cache c({group(10)});
  const int32_t a = c.cache.create();
  c.append(a, 130, 0);
  const int32_t b = c.cache.fork(a);
  c.cache.truncate(a, 30);
  EXPECT_EQ(c.cache.tokens(a).size(), 30u);
  c.append(a, 90, 700);
  c.expect_intact(a);
  c.expect_intact(b);
  EXPECT_EQ(c.cache.tokens(b).size(), 130u);
}

TEST(KvCache, ContentThatWasNamedIsStillThereAfterItsSequenceWroteOverIt) {
  Cache c({group(10)});
  const int32_t a = c.cache.create();
  c.append(a, 128, 0);
  c.cache.truncate(a, 70);
  c.append(a, 20, 900);
  const int32_t b = c.cache.create();
  EXPECT_EQ(c.cache.reuse_prefix(b, sequence_of(128), 128).reused, 128);
  c.expect_intact(a);
  c.expect_intact(b);
}

TEST(KvCache, WithoutRoomForACopyTheNameIsGivenUpInstead) {
  Cache c({group(2)});
  const int32_t a = c.cache.create();
  c.append(a, 128, 0);
  c.cache.truncate(a, 120);
  const KvCache::Append one{a, 1};
  // Both blocks are in use by this sequence: there is nothing to copy into, and no need to.
  c.cache.prepare({&one, 1});
  *c.place(a, 0, 120) = 1;
  const int32_t token = 5;
  c.cache.commit(a, {&token, 1});
  EXPECT_EQ(c.cache.pool(0).in_use(), 2);
}

TEST(KvCache, BlocksBehindAWindowAreLetGo) {
  Cache c({group(20), group(6, 70)});
  const int32_t a = c.cache.create();
  for (int i = 0; i < 9; ++i) c.append(a, 64, 64 * i);
  EXPECT_EQ(c.cache.pool(0).in_use(), 9);
  // Visible from position 576: 507..576, and 64 positions of slack behind: blocks 6, 7 and 8.
  EXPECT_EQ(c.cache.table(a, 1)[5], kNoBlock);
  EXPECT_EQ(c.cache.pool(1).in_use(), 3);
  c.expect_intact(a);
}

TEST(KvCache, ASmallStepBackInsideAWindowNeedsNothingReadAgain) {
  Cache c({group(20, 70)});
  const int32_t a = c.cache.create();
  for (int i = 0; i < 8; ++i) c.append(a, 64, 64 * i);
  c.cache.truncate(a, 512 - 60);
  EXPECT_EQ(c.cache.computed(a), 452);
  c.expect_intact(a);
}

TEST(KvCache, ABigStepBackBehindAWindowIsReadAgainOrFoundInTheCache) {
  Cache c({group(20, 70)});
  const int32_t a = c.cache.create();
  for (int i = 0; i < 8; ++i) c.append(a, 64, 64 * i);
  c.cache.truncate(a, 200);  // the blocks are out of the window, but nobody needed their memory yet
  EXPECT_EQ(c.cache.tokens(a).size(), 200u);
  EXPECT_EQ(c.cache.computed(a), 200);
  c.expect_intact(a);

  Cache small({group(5, 70)});
  const int32_t b = small.cache.create();
  for (int i = 0; i < 8; ++i) small.append(b, 64, 64 * i);
  small.cache.truncate(b, 200);
  EXPECT_EQ(small.cache.tokens(b).size(), 200u);
  EXPECT_EQ(small.cache.computed(b), 0);  // its blocks went to others: all must be read again
  small.append(b, sequence_of(200));
  EXPECT_EQ(small.cache.tokens(b).size(), 200u);
  small.expect_intact(b);
}

TEST(KvCache, NamesOfSequencesThatAreNotThereAreRefused) {
  Cache c({group(4)});
  const int32_t a = c.cache.create();
  c.cache.release(a);
  for (int32_t id : {a, -1, 7, std::numeric_limits<int32_t>::max()}) {
    EXPECT_EQ(code_of([&] { c.cache.truncate(id, 0); }), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of([&] { c.cache.fork(id); }), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of([&] { c.cache.release(id); }), ErrorCode::kInvalidArgument);
  }
  const int32_t b = c.cache.create();
  EXPECT_EQ(code_of([&] { c.cache.truncate(b, 1); }), ErrorCode::kInvalidArgument);
}

// Many random operations, against lists of tokens: content is always what the history says, reuse is never wrong, the
// budget is never passed, and at the end everything is given back.
class RandomKvCache : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomKvCache, BehavesLikeListsOfTokens) {
  std::mt19937 random(GetParam());
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  const int32_t window = GetParam() % 2 == 0 ? 0 : 1 + below(150);
  Cache c({group(24), group(24, window)});
  std::map<int32_t, std::vector<int32_t>> model;
  int appended = 0, refused = 0, reused = 0;
  for (int step = 0; step < 3000; ++step) {
    const int kind = below(10);
    auto some = model.begin();
    if (!model.empty()) std::advance(some, below(static_cast<int>(model.size())));
    if (model.empty() || (kind == 0 && model.size() < 8)) {
      model[c.cache.create()] = {};
    } else if (kind == 1 && model.size() < 8) {
      model[c.cache.fork(some->first)] = some->second;
    } else if (kind == 2) {
      c.cache.release(some->first);
      model.erase(some);
    } else if (kind == 3) {
      const auto length = static_cast<size_t>(below(static_cast<int>(some->second.size()) + 1));
      c.cache.truncate(some->first, static_cast<int64_t>(length));
      some->second.resize(length);
    } else if (kind == 4) {
      const int32_t id = c.cache.create();
      std::vector<int32_t> prompt = some->second;
      for (int i = below(100); i > 0; --i) prompt.push_back(below(2));
      if (!prompt.empty() && below(2) == 0) prompt[static_cast<size_t>(below(static_cast<int>(prompt.size())))] ^= 1;
      prompt.resize(std::min<size_t>(prompt.size(), kContext));
      const auto limit = static_cast<int64_t>(prompt.size()) - (prompt.empty() ? 0 : 1);
      const PrefixReuse reuse = c.cache.reuse_prefix(id, prompt, limit);
      ASSERT_LE(reuse.reused, limit);
      ASSERT_GE(reuse.matched, reuse.reused);
      reused += static_cast<int>(reuse.reused);
      prompt.resize(static_cast<size_t>(reuse.reused));
      model[id] = prompt;
      c.expect_intact(id);
    } else {
      std::vector<int32_t>& tokens = some->second;
      std::vector<int32_t> more(tokens.begin() + c.cache.computed(some->first), tokens.end());
      const int room = static_cast<int>(kContext - static_cast<int64_t>(tokens.size()));
      std::vector<int32_t> fresh;
      for (int i = std::min(room, 1 + below(90)); i > 0; --i) fresh.push_back(below(2));  // few tokens: much to share
      more.insert(more.end(), fresh.begin(), fresh.end());
      if (more.empty()) continue;
      try {
        c.append(some->first, more);
        tokens.insert(tokens.end(), fresh.begin(), fresh.end());
        ++appended;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kOutOfMemory);
        ++refused;
      }
    }
    for (const auto& [id, tokens] : model) {
      ASSERT_TRUE(std::ranges::equal(c.cache.tokens(id), tokens)) << "step " << step;
      ASSERT_LE(c.cache.computed(id), static_cast<int64_t>(tokens.size()));
    }
    if (!model.empty() && step % 7 == 0) c.expect_intact(model.begin()->first);
  }
  EXPECT_GT(appended, 100);
  EXPECT_GT(refused, 0);
  EXPECT_GT(reused, 0);
  for (const auto& [id, tokens] : model) {
    c.expect_intact(id);
    c.cache.release(id);
  }
  EXPECT_EQ(c.cache.pool(0).in_use(), 0);
  EXPECT_EQ(c.cache.pool(1).in_use(), 0);
  EXPECT_LE(c.cache.nodes(), 48u * 10);  // only what leads to a kept block
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKvCache, testing::Range(0u, 8u));

}  // namespace
}  // namespace ingle
