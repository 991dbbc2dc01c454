#include "apps/ingle/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>

#include "apps/ingle/explain.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/signals.h"

namespace ingle::app {
namespace {

SessionOptions sized_for(SessionOptions options, const std::vector<BenchTest>& tests) {
  std::set<std::tuple<int64_t, int64_t, int64_t>> deep;  // a ragged depth is another one for each count of sequences
  int64_t together = 1;
  for (const BenchTest& test : tests) {
    const int64_t longest = test.ragged ? 3 * (test.prompt + test.depth) / 2 : test.prompt + test.depth;
    // While prompts are read, a step takes as many of their rows as the generating sequences leave, at least one each.
    const int64_t room = std::max<int64_t>(1, std::min(options.micro_batch, options.batch) - test.sequences);
    const int64_t steps = test.mixed ? test.sequences * test.prompt / room + 2 : test.generate;
    options.context = std::max(options.context, longest + steps);
    together = std::max(together, test.sequences_in_all());
    for (int64_t i = 0; i < test.sequences_in_all() && test.depth > 0; ++i)
      deep.emplace(test.depth, test.ragged ? test.sequences_in_all() : 0, i);
  }
  options.sequences = together + static_cast<int64_t>(deep.size());
  return options;
}

void discard(const ResultRow&) {}

}  // namespace

BenchSetting::BenchSetting(const Model& model, SessionOptions options, const std::vector<BenchTest>& tests,
                           uint64_t seed)
    : session_(model, sized_for(std::move(options), tests)), seed_(seed) {
  session_.set_cancel(interrupted);
  const uint64_t vocabulary = static_cast<uint64_t>(model.info().vocabulary);
  int64_t sequences = 1;
  for (const BenchTest& test : tests) sequences = std::max(sequences, test.sequences_in_all());
  uint64_t state = seed;
  for (int64_t i = 0; i < sequences; ++i) {
    std::vector<TokenId>& tokens = tokens_.emplace_back();
    for (int64_t p = 0; p < session_.options().context; ++p)
      tokens.push_back(static_cast<TokenId>(next_random(state) % vocabulary));
  }
}

// Only the last token's logits are wanted, as when a prompt is read to be answered.
RunRequest BenchSetting::next_run(Reader& reader, int64_t count, Want want) const {
  const std::span<const TokenId> tokens = tokens_[reader.number];
  const RunRequest run{reader.id, tokens.subspan(static_cast<size_t>(reader.position), static_cast<size_t>(count)),
                       want};
  reader.position += count;
  return run;
}

BenchSetting::Reader BenchSetting::reader_at(int64_t depth, size_t number) {
  if (depth == 0) return {session_.create(), number, 0};
  const auto [found, is_new] = deep_sequences_.try_emplace({depth, number}, SequenceId{0});
  if (is_new) {
    found->second = session_.create();
    Reader reader{found->second, number, 0};
    const RunRequest run = next_run(reader, depth, Want::kNothing);
    session_.evaluate({&run, 1}, discard);
  }
  return {session_.fork(found->second), number, depth};
}

void BenchSetting::read_prompts(std::vector<Reader>& readers, const std::vector<int64_t>& sizes) {
  std::vector<RunRequest> runs;
  for (size_t i = 0; i < readers.size(); ++i)
    if (sizes[i] > 0) runs.push_back(next_run(readers[i], sizes[i], Want::kLast));
  if (!runs.empty()) session_.evaluate(runs, discard);
}

void BenchSetting::generate(std::vector<Reader>& readers, int64_t steps) {
  std::vector<RunRequest> runs;
  for (int64_t step = 0; step < steps; ++step) {
    runs.clear();
    for (Reader& reader : readers) runs.push_back(next_run(reader, 1, Want::kLast));
    session_.evaluate(runs, discard);
  }
}

// What a server does when prompts arrive: every step is one micro-batch with a token of each sequence that generates,
// and prompts share what is left of it. Returns the number of steps.
int64_t BenchSetting::read_while_generating(std::vector<Reader>& prompts, std::vector<int64_t> left,
                                            std::vector<Reader>& talkers) {
  std::vector<RunRequest> runs;
  int64_t steps = 0;
  for (;; ++steps) {
    int64_t waiting = std::ranges::count_if(left, [](int64_t n) { return n > 0; });
    if (waiting == 0) return steps;
    int64_t room = session_.options().micro_batch - static_cast<int64_t>(talkers.size());
    runs.clear();
    for (Reader& talker : talkers) runs.push_back(next_run(talker, 1, Want::kLast));
    // The shortest first, so that what they do not need goes to the others.
    std::vector<size_t> order;
    for (size_t i = 0; i < left.size(); ++i)
      if (left[i] > 0) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return left[i]; });
    for (const size_t i : order) {
      const int64_t count = std::min(left[i], std::max<int64_t>(1, room / waiting));
      left[i] -= count;
      room -= count;
      --waiting;
      runs.push_back(next_run(prompts[i], count, left[i] == 0 ? Want::kLast : Want::kNothing));
    }
    session_.evaluate(runs, discard);
  }
}

BenchSample BenchSetting::run(const BenchTest& test) {
  const std::vector<int64_t> sizes = spread_sizes(test.prompt, test.sequences, test.ragged, seed_);
  const std::vector<int64_t> depths = spread_sizes(test.depth, test.sequences_in_all(), test.ragged, seed_ + 1);
  std::vector<Reader> readers, talkers;
  for (size_t i = 0; i < depths.size(); ++i) (i < sizes.size() ? readers : talkers).push_back(reader_at(depths[i], i));
  // Who generates has something to continue.
  if (test.depth == 0) generate(talkers, 1);

  BenchSample sample;
  if (counted_ != nullptr) counted_->clear();
  const RowCounts before = session_.rows();
  const auto start = std::chrono::steady_clock::now();
  if (test.mixed) {
    sample.generated_tokens = test.sequences * read_while_generating(readers, sizes, talkers);
  } else {
    read_prompts(readers, sizes);
    generate(readers, test.generate);
    sample.generated_tokens = test.sequences * test.generate;
  }
  sample.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  sample.prompt_tokens = test.sequences * test.prompt;
  const RowCounts after = session_.rows();
  sample.rows = {.computed = after.computed - before.computed,
                 .skipped = after.skipped - before.skipped,
                 .tokens = after.tokens - before.tokens};
  for (const auto* list : {&readers, &talkers})
    for (const Reader& reader : *list) session_.release(reader.id);
  return sample;
}

BenchSample BenchSetting::measure(const BenchTest& test) {
  if (interrupted()) fail(ErrorCode::kCancelled, "interrupted");
  return run(test);
}

// The same once more, by a session that only counts.
std::vector<StepWork> BenchSetting::count_work(const BenchTest& test) const {
  std::vector<StepWork> steps;
  SessionOptions options = session_.options();
  options.count_work = [&steps](const StepWork& work) { steps.push_back(work); };
  BenchSetting dry(model(), std::move(options), {test}, seed_);
  dry.counted_ = &steps;
  dry.run(test);
  return steps;
}

void BenchSetting::trace(const BenchTest& test, std::function<void(std::string_view)> line) const {
  SessionOptions options = session_.options();
  options.trace = std::move(line);
  BenchSetting(model(), std::move(options), {test}, seed_).run(test);
}

std::string BenchSetting::check(const BenchTest& test) const {
  SessionOptions options = session_.options();
  options.check_ops = true;
  BenchSetting twice(model(), std::move(options), {test}, seed_);
  twice.run(test);
  return check_tables(twice.session_.op_checks(), fmt::format("{}, {}", test.name(), model().engine().device()));
}

std::string BenchSetting::profile(const BenchTest& test) {
  // What is read only once, for the depth, is no part of it.
  run(test);
  session_.set_profile(true);
  run(test);
  const std::vector<ProfileLine> lines = session_.profile();
  session_.set_profile(false);
  return profile_tables(
      lines, fmt::format("{}, {}{}", test.name(), model().engine().device(), options().every_row ? ", all rows" : ""));
}

}  // namespace ingle::app
