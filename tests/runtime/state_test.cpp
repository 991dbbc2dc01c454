// Sequences kept in files: one that goes on in another engine gives the bits that it would have given without stopping,
// and whatever is not the right file is refused.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <random>

#include "ingle/ingle.h"
#include "runtime/state_file.h"
#include "runtime/xxh64.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

using golden::read;
using golden::Rows;
using golden::slice;
using test::expect_error;
using test::read_bytes;
using test::TemporaryFolder;

struct Loaded {
  explicit Loaded(const std::string& name, bool exact = false)
      : data(golden::load(name)),
        engine({.threads = 1, .isa = {}, .exact = exact, .log = {}}),
        model(Model::open(engine, data.file())) {}
  std::vector<TokenId> some_tokens(size_t count) const {
    std::mt19937 random(5);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % static_cast<uint32_t>(data.vocab));
    return tokens;
  }

  golden::Golden data;
  Engine engine;
  Model model;
};

struct Case {
  std::string model, cache_type;
  bool exact;
};

class KeptSequence : public testing::TestWithParam<Case> {};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  // Full attention, windows, windows with shared caches and one without, a latent cache, experts.
  for (const char* model :
       {"llama_wide", "mistral_window", "gemma4_ple", "gemma4_moe", "deepseek2_lite", "gptoss_tiny"}) {
    cases.push_back({model, "f32", true});
    for (const char* type : {"f32", "f16", "i16", "q8_0", "q4_0"}) cases.push_back({model, type, false});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, KeptSequence, testing::ValuesIn(all_cases()), [](const auto& info) {
  return info.param.model + "_" + info.param.cache_type + (info.param.exact ? "_exact" : "");
});

TEST_P(KeptSequence, GoesOnInAnotherEngineAsIfItHadNeverStopped) {
  const TemporaryFolder folder;
  const SessionOptions options{
      .context = 300, .micro_batch = 40, .cache_type_k = GetParam().cache_type, .cache_type_v = GetParam().cache_type};
  for (const size_t border : {5, 64, 250}) {
    const Loaded before(GetParam().model, GetParam().exact);
    const std::vector<TokenId> tokens = before.some_tokens(border + 30);
    Rows expected, rows;
    {
      Session s(before.model, options);
      const SequenceId id = s.create();
      read(s, id, slice(tokens, 0, border), expected, Want::kNothing);
      s.save_state(id, folder / "state", "what the caller keeps");
      for (size_t p = border; p < border + 10; ++p) read(s, id, slice(tokens, p, p + 1), expected);
      read(s, id, slice(tokens, border + 10, tokens.size()), expected);
    }
    const Loaded after(GetParam().model, GetParam().exact);
    Session s(after.model, options);
    const LoadedState state = s.load_state(folder / "state");
    EXPECT_EQ(state.attachment, "what the caller keeps");
    ASSERT_TRUE(std::ranges::equal(s.tokens(state.sequence), slice(tokens, 0, border)));
    EXPECT_EQ(s.rows().tokens, 0);
    for (size_t p = border; p < border + 10; ++p) read(s, state.sequence, slice(tokens, p, p + 1), rows);
    read(s, state.sequence, slice(tokens, border + 10, tokens.size()), rows);
    EXPECT_EQ(s.rows().tokens, 30);
    for (size_t p = border; p < tokens.size(); ++p) ASSERT_EQ(rows[p], expected[p]) << border << ", position " << p;
  }
}

TEST_P(KeptSequence, HoldsNothingOfAnotherSequence) {
  const TemporaryFolder folder;
  const Loaded loaded(GetParam().model, GetParam().exact);
  const std::vector<TokenId> tokens = loaded.some_tokens(70), others(290, tokens.back());
  for (const char* name : {"alone", "later"}) {
    Session s(loaded.model, {.context = 300,
                             .micro_batch = 40,
                             .cache_type_k = GetParam().cache_type,
                             .cache_type_v = GetParam().cache_type});
    Rows rows;
    if (name == std::string_view("later")) {
      const SequenceId other = s.create();
      read(s, other, others, rows, Want::kNothing);  // fills every block
      s.release(other);
    }
    const SequenceId id = s.create();
    read(s, id, tokens, rows, Want::kNothing);
    s.save_state(id, folder / name);
  }
  EXPECT_EQ(read_bytes(folder / "alone"), read_bytes(folder / "later"));
}

TEST(State, ALoadedSequenceServesAsAPrefix) {
  const TemporaryFolder folder;
  const Loaded loaded("llama_wide");
  const std::vector<TokenId> tokens = loaded.some_tokens(200);
  Rows rows;
  {
    Session s(loaded.model, {.context = 256});
    const SequenceId id = s.create();
    read(s, id, slice(tokens, 0, 150), rows, Want::kNothing);
    s.save_state(id, folder / "state");
  }
  Session s(loaded.model, {.context = 256, .sequences = 2});
  s.load_state(folder / "state");
  EXPECT_EQ(s.reuse_prefix(s.create(), tokens), 150);
}

TEST(State, AnEmptySequenceAndOneThatHasToBeReadAgainAreKeptToo) {
  const TemporaryFolder folder;
  const Loaded loaded("mistral_window");
  const std::vector<TokenId> tokens = loaded.some_tokens(400);
  Session s(loaded.model, {.context = 512, .micro_batch = 16});
  const SequenceId id = s.create();
  s.save_state(id, folder / "empty");
  Rows rows, expected;
  read(s, id, tokens, rows, Want::kNothing);
  s.truncate(id, 40);  // the window has passed: these tokens are there, their keys and values are not
  s.save_state(id, folder / "far");
  read(s, id, slice(tokens, 100, 110), expected);

  Session again(loaded.model, {.context = 512, .sequences = 2, .micro_batch = 16});
  EXPECT_EQ(again.length(again.load_state(folder / "empty").sequence), 0);
  const SequenceId far = again.load_state(folder / "far").sequence;
  EXPECT_EQ(again.length(far), 40);
  read(again, far, slice(tokens, 100, 110), rows);
  for (size_t p = 40; p < 50; ++p) EXPECT_EQ(rows[p], expected[p]);
}

// A small state file of this model.
std::string small_state(const TemporaryFolder& folder, const Loaded& loaded,
                        SessionOptions options = {.context = 128}) {
  Session s(loaded.model, std::move(options));
  const SequenceId id = s.create();
  Rows rows;
  read(s, id, loaded.some_tokens(3), rows, Want::kNothing);
  s.save_state(id, folder / "state", "{}");
  return read_bytes(folder / "state");
}

StateFile parse(std::string_view bytes) { return parse_state(std::as_bytes(std::span(bytes)), "state"); }

TEST(State, AFileCutAnywhereIsRefused) {
  const TemporaryFolder folder;
  const std::string bytes = small_state(folder, Loaded("mistral_window"), {.context = 128, .cache_type_k = "q4_0"});
  parse(bytes);
  for (size_t length = 0; length < bytes.size(); ++length)
    expect_error([&] { parse(std::string_view(bytes).substr(0, length)); }, ErrorCode::kInvalidFile, "state");
  expect_error([&] { parse(bytes + '\0'); }, ErrorCode::kInvalidFile, "was written with");
}

TEST(State, AChangedByteAnywhereIsRefused) {
  const TemporaryFolder folder;
  std::string bytes = small_state(folder, Loaded("mistral_window"), {.context = 128, .cache_type_k = "q4_0"});
  for (size_t at = 0; at < bytes.size(); ++at) {
    const char kept = bytes[at];
    bytes[at] = static_cast<char>(kept ^ 1 << at % 8);
    EXPECT_THROW(parse(bytes), Error) << "byte " << at;
    bytes[at] = kept;
  }
}

TEST(State, ARefusedFileChangesNothing) {
  const TemporaryFolder folder;
  const Loaded loaded("llama_wide");
  std::string bytes = small_state(folder, loaded);
  bytes[bytes.size() / 2] ^= 16;
  folder.write("damaged", bytes);
  folder.write("empty", "");
  Session s(loaded.model, {.context = 128});
  const auto load = [&](const char* name) { return [&, name] { s.load_state(folder / name); }; };
  expect_error(load("damaged"), ErrorCode::kInvalidFile, "damaged: damaged: its checksum does not match");
  expect_error(load("empty"), ErrorCode::kInvalidFile, "empty");
  expect_error(load("absent"), ErrorCode::kNotFound, "absent");
  folder.write("other", "GGUF and more");
  expect_error(load("other"), ErrorCode::kInvalidFile, "other: not a saved state");
  bytes[8] = 2;
  folder.write("newer", bytes);
  expect_error(load("newer"), ErrorCode::kUnsupported, "newer: a state of version 2; this build reads version 1");
  EXPECT_EQ(s.length(s.load_state(folder / "state").sequence), 3);
}

TEST(State, WhatDiffersIsNamed) {
  const TemporaryFolder folder;
  const Loaded loaded("llama_wide");
  small_state(folder, loaded, {.context = 128, .cache_type_k = "f16", .cache_type_v = "f16"});
  const auto refused = [&](const Loaded& other, SessionOptions options, std::string_view message) {
    Session s(other.model, std::move(options));
    expect_error([&] { s.load_state(folder / "state"); }, ErrorCode::kInvalidArgument, message);
  };
  refused(Loaded("llama_tied"), {.context = 128}, "state: was saved with the model '");
  refused(loaded, {.context = 128, .cache_type_k = "q8_0", .cache_type_v = "f16"},
          "was saved with the cache type for keys f16, here it is q8_0");
  refused(loaded, {.context = 128, .cache_type_k = "f16", .cache_type_v = "f32"},
          "was saved with the cache type for values f16, here it is f32");
  refused(Loaded("llama_wide", true), {.context = 128, .cache_type_k = "f16", .cache_type_v = "f16"},
          "was saved with the precision default, here it is exact");
  refused(loaded, {.context = 2, .cache_type_k = "f16", .cache_type_v = "f16"},
          "state: the sequence has 3 tokens, the context holds 2");
}

TEST(State, ACacheTypeIsTheSameInAnyLetters) {
  const TemporaryFolder folder;
  const Loaded loaded("llama_wide");
  small_state(folder, loaded, {.context = 128, .cache_type_k = "F16", .cache_type_v = "Q8_0"});
  Session s(loaded.model, {.context = 128, .cache_type_k = "f16", .cache_type_v = "q8_0"});
  EXPECT_EQ(s.length(s.load_state(folder / "state").sequence), 3);
}

TEST(State, AModelOfOtherNumbersIsAnotherModel) {
  const TemporaryFolder folder;
  const Loaded loaded("llama_wide");
  small_state(folder, loaded);
  std::string bytes = read_bytes(loaded.data.file());
  bytes[bytes.size() - 2] ^= 1;  // in the last tensor
  Engine engine({.threads = 1, .isa = {}, .exact = false, .log = {}});
  const Model other = Model::open(engine, folder.write("other.gguf", bytes));
  Session s(other, {.context = 128});
  expect_error([&] { s.load_state(folder / "state"); }, ErrorCode::kInvalidArgument, "fingerprint");
}

TEST(State, KeysTurnedForLongTextsAreNotThoseForShortOnes) {
  const TemporaryFolder folder;
  const Loaded loaded("phi3_long");
  small_state(folder, loaded, {.context = 8});
  Session s(loaded.model, {.context = 256});
  expect_error([&] { s.load_state(folder / "state"); }, ErrorCode::kInvalidArgument,
               "a context whose rope factors are those for short texts, here it is one for long texts");
}

TEST(State, ACacheWithoutRoomSaysWhatIsWanted) {
  const TemporaryFolder folder;
  const Loaded loaded("llama_wide");
  small_state(folder, loaded);
  Session s(loaded.model, {.context = 128});
  const SequenceId id = s.create();
  Rows rows;
  read(s, id, loaded.some_tokens(100), rows, Want::kNothing);
  expect_error([&] { s.load_state(folder / "state"); }, ErrorCode::kOutOfMemory, "1 blocks of 64 positions are wanted");
  s.release(id);
  s.load_state(folder / "state");
}

// Other numbers behind a checksum that fits.
std::string sealed(std::string bytes) {
  const uint64_t checksum = xxh64(std::as_bytes(std::span(bytes)).first(bytes.size() - 8));
  std::memcpy(bytes.data() + bytes.size() - 8, &checksum, sizeof checksum);
  return bytes;
}

TEST(State, NumbersThatCannotBeAreRefusedBehindAnyChecksum) {
  const TemporaryFolder folder;
  const Loaded loaded("mistral_window");
  const std::string bytes = small_state(folder, loaded);
  Session s(loaded.model, {.context = 128});
  const auto refused = [&](size_t at, int64_t value, size_t size, std::string_view message) {
    std::string changed = bytes;
    std::memcpy(changed.data() + at, &value, size);
    folder.write("hostile", sealed(changed));
    expect_error([&] { s.load_state(folder / "hostile"); }, ErrorCode::kInvalidFile, message);
  };
  const std::vector<TokenId> tokens = loaded.some_tokens(3);
  const size_t token = bytes.find(std::string(reinterpret_cast<const char*>(tokens.data()), 12));
  ASSERT_NE(token, std::string::npos);
  refused(token, -1, 4, "token -1 is not from 0 to");
  refused(token, 1 << 20, 4, "token 1048576 is not from 0 to");
  refused(token - 8, INT64_MAX, 8, "tokens, at most");
  refused(token - 16, 4, 8, "4 positions computed of 3");
  refused(token - 16, 0, 8, "blocks from 0 on, 0 positions end in block 0");
  refused(token - 24, 2, 8, "2 blocks from 0 on");
  refused(token - 32, -1, 8, "first block: -1 is not from 0 to");
  refused(token - 40, 64, 8, "");  // bytes of a block
  refused(12, 2, 4, "precision 2 is neither 0 nor 1");
}

// A limit on the size of files stands in for a full disk.
TEST(State, TheModelsFileIsNotReplaced) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(golden::load("llama_tied").file(), folder / "model.gguf");
  const std::string before = read_bytes(folder / "model.gguf");
  Engine engine({.threads = 1, .log = {}});
  const Model model = Model::open(engine, folder / "model.gguf");
  Session s(model, {.context = 64});
  const SequenceId id = s.create();
  expect_error([&] { s.save_state(id, folder / "model.gguf"); }, ErrorCode::kInvalidArgument,
               "model.gguf: is a file to read, it cannot be the one to write");
  EXPECT_TRUE(read_bytes(folder / "model.gguf") == before);
}

TEST(State, AFullDiskKeepsTheOldFile) {
  const TemporaryFolder folder;
  const Loaded loaded("llama_wide");
  const std::string old = small_state(folder, loaded);
  Session s(loaded.model, {.context = 512, .cache_type_k = "f32", .cache_type_v = "f32"});
  const SequenceId id = s.create();
  Rows rows;
  read(s, id, loaded.some_tokens(400), rows, Want::kNothing);
  ::rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const ::rlimit small{1 << 16, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error([&] { s.save_state(id, folder / "state"); }, ErrorCode::kIo, "state: cannot write: ");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_bytes(folder / "state"), old);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"state"});
}

}  // namespace
}  // namespace ingle
