// Sessions on a tiny golden model: runs, wants, errors that change nothing, and a step that allocates nothing.
#include "ingle/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <random>
#include <thread>

#include "gguf/gguf.h"
#include "ingle/ingle.h"
#include "tests/address_space.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace {
std::atomic<int64_t> allocations{0};
}

// Counts what everybody in this program allocates through new.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto a = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace ingle {
namespace {

using golden::read;
using golden::Rows;
using golden::slice;
using test::error_of;

struct Loaded {
  explicit Loaded(const std::string& name = "llama_wide", bool exact = true)
      : data(golden::load(name)),
        engine({.threads = 1, .isa = {}, .exact = exact, .log = {}}),
        model(Model::open(engine, data.file())) {}
  const std::vector<TokenId>& tokens() const { return data.prompts.front().tokens; }

  golden::Golden data;
  Engine engine;
  Model model;
};

std::vector<TokenId> some_tokens(size_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& t : tokens) t = static_cast<TokenId>(random() % 133);
  return tokens;
}

TEST(Session, DefaultsAreFilledIn) {
  const Loaded loaded;
  const Session s(loaded.model);
  EXPECT_EQ(s.options().context, 512);  // the model's own, which is less than 4096
  EXPECT_EQ(s.options().cache_type_k, "f32");
  const Loaded fast("llama_wide", false);
  const std::string type = Session(fast.model).options().cache_type_v;  // the backend's choice
  EXPECT_TRUE(type == "i16" || type == "f16") << type;
}

TEST(Session, OptionsOutOfRangeAreNamed) {
  const Loaded loaded;
  const auto open = [&](SessionOptions options) { Session s(loaded.model, options); };
  using enum ErrorCode;
  EXPECT_NE(error_of(kInvalidArgument, [&] { open({.context = -1}); }).find("context: -1"), std::string::npos);
  EXPECT_NE(error_of(kInvalidArgument, [&] { open({.sequences = 0}); }).find("sequences: 0"), std::string::npos);
  EXPECT_NE(error_of(kInvalidArgument, [&] { open({.batch = 0}); }).find("batch: 0"), std::string::npos);
  EXPECT_NE(error_of(kInvalidArgument, [&] { open({.micro_batch = 0}); }).find("micro_batch: 0"), std::string::npos);
  EXPECT_NE(error_of(kInvalidArgument, [&] { open({.cache_type_k = "f61"}); }).find("f61"), std::string::npos);
  error_of(kUnsupported, [&] { open({.cache_type_v = "q2_k"}); });
  const std::string huge = error_of(kOutOfMemory, [&] { open({.context = 1 << 26, .sequences = 100}); });
  EXPECT_NE(huge.find("a context of"), std::string::npos) << huge;
}

// An engine's threads serve one after the other who shares it.
TEST(Session, SeveralThreadsHaveTheirOwnSessionsOnOneModel) {
  const golden::Golden data = golden::load("llama_wide");
  Engine engine({.threads = 3, .isa = {}, .exact = true, .log = {}});
  const Model model = Model::open(engine, data.file());
  const std::vector<TokenId> tokens = some_tokens(40);
  const auto last_logits = [&](const Model& of) {
    Session s(of, {.context = 64, .micro_batch = 8});
    Rows rows;
    read(s, s.create(), tokens, rows);
    return rows[39];
  };
  const std::vector<float> alone = last_logits(model);
  std::vector<std::vector<float>> shared(4), opened(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shared.size(); ++i) {
    threads.emplace_back([&, i] {
      shared[i] = last_logits(model);
      opened[i] = last_logits(Model::open(engine, data.file()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < shared.size(); ++i) {
    EXPECT_EQ(shared[i], alone);
    EXPECT_EQ(opened[i], alone);
  }
}

TEST(Session, AResultThatIsNoNumberIsAnErrorOfTheFile) {
  const Loaded loaded;
  const test::TemporaryFolder folder;
  const std::vector<TokenId> tokens = some_tokens(3);
  Engine engine({.threads = 1, .isa = {}, .exact = true, .log = {}});
  const auto refused = [&](const std::string& tensor, Want logits, Want hidden, std::string_view message) {
    std::string bytes = golden::read_file(loaded.data.file());
    const GgufFile file = GgufFile::open(loaded.data.file());
    const std::byte* first = file.find(tensor)->row(0);
    const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(first), 64));
    ASSERT_NE(at, std::string::npos);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + at, &nan, sizeof nan);
    const Model model = Model::open(engine, folder.write("nan.gguf", bytes));
    Session s(model, {.context = 64});
    const SequenceId id = s.create();
    const RunRequest run{.sequence = id, .tokens = tokens, .want = logits, .hidden = hidden};
    test::expect_error([&] { s.evaluate({&run, 1}, [](const ResultRow&) {}); }, ErrorCode::kInvalidFile, message);
    EXPECT_EQ(s.length(id), 0);
  };
  refused("output.weight", Want::kLast, Want::kNothing, "nan.gguf: 1 of 133 logits are not finite after token 2;");
  refused("blk.0.attn_v.weight", Want::kAll, Want::kNothing, "133 of 133 logits are not finite after token 0;");
  refused("blk.0.attn_v.weight", Want::kNothing, Want::kLast, " hidden numbers are not finite after token 2;");
}

TEST(Session, RowsBeforeTheFirstAreNone) {
  const Loaded loaded;
  Session s(loaded.model);
  Rows rows;
  read(s, s.create(), some_tokens(5), rows);
  const RowCounts since = s.rows() - RowCounts{};
  EXPECT_EQ(since.tokens, 5);
  EXPECT_EQ(since.by_layer, s.rows().by_layer);
}

TEST(Session, ATapThatNobodyTakesIsRefused) {
  const Loaded loaded;
  Session s(loaded.model);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { s.set_tap({0}, {}); }), "tap: nobody takes the rows");
  s.set_tap({}, {});
}

TEST(Session, TooLittleMemoryIsAnErrorOfItsKind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need all of the address space";
#endif
  const auto create_with_little_room = [] {
    const Loaded loaded("mistral_window", false);  // the cache of a window is small, the list of tokens is not
    Session s(loaded.model, {.context = 1 << 26});
    test::leave_address_space(size_t{40} << 20);
    std::cerr << error_of(ErrorCode::kOutOfMemory, [&] { s.create(); });
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(create_with_little_room(), testing::ExitedWithCode(0), "sequence: not enough memory for .* positions");
}

TEST(Session, EachRunsRowsComeInAscendingPosition) {
  const Loaded loaded;
  Session s(loaded.model, {.context = 256, .sequences = 3, .batch = 64, .micro_batch = 16});
  const SequenceId a = s.create(), b = s.create(), c = s.create();
  const std::vector<TokenId> long_run = some_tokens(100), short_run = some_tokens(3), one = some_tokens(1);
  const RunRequest runs[] = {{a, long_run, Want::kAll}, {b, short_run, Want::kAll}, {c, one, Want::kLast}};
  std::vector<std::vector<int32_t>> positions(3);
  s.evaluate(runs, [&](const ResultRow& row) {
    ASSERT_LT(row.run, 3u);
    ASSERT_EQ(row.logits.size(), 133u);
    positions[row.run].push_back(row.position);
  });
  ASSERT_EQ(positions[0].size(), 100u);
  for (int32_t p = 0; p < 100; ++p) EXPECT_EQ(positions[0][static_cast<size_t>(p)], p);
  EXPECT_EQ(positions[1], (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(positions[2], (std::vector<int32_t>{0}));
  EXPECT_EQ(s.length(a), 100);
  EXPECT_TRUE(std::ranges::equal(s.tokens(b), short_run));
}

TEST(Session, AShortRunDoesNotWaitForALongOne) {
  const Loaded loaded;
  Session s(loaded.model, {.context = 256, .sequences = 2, .micro_batch = 16});
  const std::vector<TokenId> long_run = some_tokens(200), one = some_tokens(1);
  const RunRequest runs[] = {{s.create(), long_run, Want::kLast}, {s.create(), one, Want::kLast}};
  std::vector<size_t> order;
  s.evaluate(runs, [&](const ResultRow& row) { order.push_back(row.run); });
  EXPECT_EQ(order, (std::vector<size_t>{1, 0}));
}

TEST(Session, AResultDoesNotDependOnHowTheRunsAreCut) {
  const Loaded loaded("llama_tied", false);  // also in default precision
  Rows reference;
  {
    Session s(loaded.model, {.context = 256, .micro_batch = 512});
    read(s, s.create(), loaded.tokens(), reference);
  }
  for (int64_t micro : {1, 7, 64}) {
    Session s(loaded.model, {.context = 256, .sequences = 2, .batch = 32, .micro_batch = micro});
    const SequenceId id = s.create(), other = s.create();
    const std::vector<TokenId> noise = some_tokens(50);
    const RunRequest runs[] = {{other, noise, Want::kNothing}, {id, loaded.tokens(), Want::kAll}};
    Rows rows(256);
    s.evaluate(runs, [&](const ResultRow& row) {
      rows[static_cast<size_t>(row.position)].assign(row.logits.begin(), row.logits.end());
    });
    for (size_t p = 0; p < loaded.tokens().size(); ++p) EXPECT_EQ(rows[p], reference[p]) << micro << ", position " << p;
  }
}

TEST(Session, AResultDoesNotDependOnTheNumberOfThreads) {
  const golden::Golden data = golden::load("llama_wide");
  const std::vector<TokenId>& tokens = data.prompts.front().tokens;
  std::vector<Rows> results;
  for (int threads : {1, 3}) {
    Engine engine({.threads = threads, .isa = {}, .exact = false, .log = {}});
    const Model model = Model::open(engine, data.file());
    Session s(model, {.context = 256});
    Rows rows;
    read(s, s.create(), tokens, rows);
    results.push_back(rows);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Session, BadRequestsAreRefusedAndChangeNothing) {
  const Loaded loaded;
  Session s(loaded.model, {.context = 64, .sequences = 2});
  const SequenceId a = s.create();
  const std::vector<TokenId> ten = some_tokens(10), much = some_tokens(60);
  Rows rows;
  read(s, a, ten, rows);
  const auto refuse = [&](SequenceId id, std::vector<TokenId> tokens, Want want, bool take = true) {
    const RunRequest run{id, tokens, want};
    const std::string message = error_of(ErrorCode::kInvalidArgument, [&] {
      s.evaluate({&run, 1}, take ? std::function<void(const ResultRow&)>([](const ResultRow&) {}) : nullptr);
    });
    EXPECT_EQ(s.length(a), 10);
    return message;
  };
  EXPECT_NE(refuse(a, {3, 133}, Want::kLast).find("token 133"), std::string::npos);
  EXPECT_NE(refuse(a, {-1}, Want::kLast).find("token -1"), std::string::npos);
  EXPECT_NE(refuse(a, much, Want::kLast).find("the context of 64"), std::string::npos);
  refuse(a, {}, Want::kLast);
  refuse(a, {1}, Want::kLast, false);
  refuse(99, {1}, Want::kLast);
  const RunRequest twice[] = {{a, ten, Want::kLast}, {a, ten, Want::kLast}};
  error_of(ErrorCode::kInvalidArgument, [&] { s.evaluate(twice, [](const ResultRow&) {}); });
  error_of(ErrorCode::kInvalidArgument, [&] { s.truncate(a, 11); });
  EXPECT_EQ(s.length(a), 10);
}

// The sequence after a failure gives what it would have given without it.
void expect_continues(Session& s, const Loaded& loaded, SequenceId id, size_t length) {
  ASSERT_EQ(s.length(id), static_cast<int64_t>(length));
  Rows rows;
  read(s, id, slice(loaded.tokens(), length, loaded.tokens().size()), rows);
  for (size_t p = length; p < loaded.tokens().size(); ++p)
    EXPECT_LE(golden::relative_error(rows[p], loaded.data.prompts.front().logits[p]), 1e-5) << "position " << p;
}

TEST(Session, ACancelledCallLeavesEverySequenceAsItWas) {
  for (const char* name : {"llama_wide", "mistral_window"}) {
    const Loaded loaded(name);
    Session s(loaded.model, {.context = 512, .sequences = 3, .micro_batch = 8});
    const SequenceId id = s.create();
    Rows rows;
    read(s, id, slice(loaded.tokens(), 0, 20), rows);
    int asked = 0;
    s.set_cancel([&] { return ++asked > 30; });
    const std::vector<TokenId> noise = some_tokens(300);
    const RunRequest run{id, noise, Want::kAll};
    error_of(ErrorCode::kCancelled, [&] { s.evaluate({&run, 1}, [](const ResultRow&) {}); });
    s.set_cancel({});
    expect_continues(s, loaded, id, 20);
  }
}

TEST(Session, WhatTheReaderThrowsPassesThroughAndNothingHasChanged) {
  const Loaded loaded;
  Session s(loaded.model, {.context = 256, .micro_batch = 8});
  const SequenceId id = s.create();
  Rows rows;
  read(s, id, slice(loaded.tokens(), 0, 9), rows);
  const std::vector<TokenId> noise = some_tokens(30);
  const RunRequest run{id, noise, Want::kLast};
  EXPECT_THROW(s.evaluate({&run, 1}, [](const ResultRow&) { throw 5; }), int);
  expect_continues(s, loaded, id, 9);
}

TEST(Session, AFullCacheIsAnErrorUntilASequenceIsReleased) {
  const Loaded loaded;
  Session s(loaded.model, {.context = 128, .sequences = 1});
  const SequenceId a = s.create(), b = s.create();
  Rows rows;
  read(s, a, some_tokens(100), rows);
  const std::vector<TokenId> more = some_tokens(70, 9);
  const RunRequest run{b, more, Want::kLast};
  const std::string message = error_of(ErrorCode::kOutOfMemory, [&] {
    s.evaluate({&run, 1}, [](const ResultRow&) {});
  });
  EXPECT_NE(message.find("2 more blocks"), std::string::npos) << message;
  EXPECT_EQ(s.length(b), 0);
  s.release(a);
  read(s, b, more, rows);
  EXPECT_EQ(s.length(b), 70);
}

TEST(Session, AFarTruncationBehindAWindowIsStillExact) {
  const Loaded loaded("mistral_window");
  Session s(loaded.model, {.context = 512, .sequences = 1, .micro_batch = 16});
  const SequenceId id = s.create();
  Rows rows;
  read(s, id, slice(loaded.tokens(), 0, 40), rows);
  read(s, id, some_tokens(400), rows, Want::kNothing);  // the first blocks are out of the window and taken by others
  s.truncate(id, 40);
  expect_continues(s, loaded, id, 40);
}

TEST(Session, RowsNobodyNeedsAreNotComputed) {
  const Loaded loaded;
  Session s(loaded.model, {.context = 256});
  Rows rows;
  read(s, s.create(), some_tokens(50), rows, Want::kLast);
  EXPECT_EQ(s.rows().tokens, 50);
  EXPECT_EQ(s.rows().computed, 50 + 1);  // two layers; of the last, one row
  EXPECT_EQ(s.rows().skipped, 49);
  read(s, s.create(), some_tokens(50), rows, Want::kNothing);
  EXPECT_EQ(s.rows().computed, 50 + 1 + 50);
}

TEST(Session, AGenerationStepAllocatesNothing) {
  for (const char* name : {"llama_wide", "mistral_window"}) {
    for (bool exact : {true, false}) {
      const Loaded loaded(name, exact);
      Session s(loaded.model, {.context = 512, .sequences = 2});
      const SequenceId a = s.create(), b = s.create();
      float sum = 0;
      const std::function<void(const ResultRow&)> take = [&](const ResultRow& row) { sum += row.logits[0]; };
      const auto step = [&](TokenId token) {
        const RunRequest runs[] = {{a, {&token, 1}, Want::kLast}, {b, {&token, 1}, Want::kLast}};
        s.evaluate(runs, take);
      };
      for (TokenId t = 0; t < 4; ++t) step(t);  // sizes are learnt
      const int64_t before = allocations;
      for (TokenId t = 0; t < 130; ++t) step(t);  // across two block borders
      EXPECT_EQ(allocations - before, 0) << name << (exact ? ", exact" : ", default");
      EXPECT_NE(sum, 0.0f);
    }
  }
}

TEST(Session, AGenerationStepWithAdaptersAllocatesNothing) {
  const Loaded loaded("qwen3moe_tiny", false);
  const Adapter adapter =
      Adapter::open(loaded.model, std::string(INGLE_SOURCE_DIR) + "/tests/models/lora/qwen3moe_tiny.one.gguf");
  Session s(loaded.model, {.context = 512, .sequences = 2});
  const SequenceId a = s.create(), b = s.create();
  s.set_adapters(b, {{&adapter, 1}});
  const std::function<void(const ResultRow&)> take = [](const ResultRow&) {};
  const auto step = [&](TokenId token) {
    const RunRequest runs[] = {{a, {&token, 1}, Want::kLast}, {b, {&token, 1}, Want::kLast}};
    s.evaluate(runs, take);
  };
  for (TokenId t = 0; t < 70; ++t) step(t);  // sizes are learnt
  const int64_t before = allocations;
  for (TokenId t = 0; t < 60; ++t) step(t);
  EXPECT_EQ(allocations - before, 0);
}

TEST(Session, ThePlanIsWhatASessionTakes) {
  Loaded loaded;
  const SessionOptions options{.context = 512, .sequences = 2, .micro_batch = 64};
  Session s(loaded.model, options);
  Rows rows;
  read(s, s.create(), some_tokens(200), rows, Want::kLast);
  const std::vector<MemoryUse> plan = plan_memory(loaded.engine, loaded.data.file(), options);
  const std::vector<MemoryUse> use = s.memory();
  ASSERT_EQ(plan.size(), use.size());
  for (size_t i = 0; i < plan.size(); ++i) EXPECT_EQ(plan[i].owner, use[i].owner);
  // Activations of a tiny model are smaller than the arena's first chunk; what counts in megabytes must agree.
  EXPECT_NEAR(static_cast<double>(plan[0].bytes), static_cast<double>(use[0].bytes),
              0.02 * static_cast<double>(use[0].bytes));
  EXPECT_EQ(plan[1].bytes, use[1].bytes);
  EXPECT_LE(plan[2].bytes, use[2].bytes);
}

TEST(Session, AVocabularyCannotBeRun) {
  Loaded loaded;
  const Model vocabulary = Model::open(loaded.engine, loaded.data.file(), {.vocabulary_only = true, .progress = {}});
  EXPECT_EQ(vocabulary.tokenize("the"), loaded.model.tokenize("the"));
  error_of(ErrorCode::kInvalidArgument, [&] { Session s(vocabulary); });
}

}  // namespace
}  // namespace ingle
