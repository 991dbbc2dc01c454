#include "apps/ingle/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "apps/ingle/explain.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/signals.h"

namespace ingle::app {
namespace {

SessionOptions sized_for(SessionOptions options, const std::vector<BenchTest>& tests) {
  std::set<int64_t> depths;
  for (const BenchTest& test : tests) {
    options.context = std::max(options.context, test.positions());
    depths.insert(test.depth);
  }
  options.sequences = static_cast<int64_t>(depths.size());
  return options;
}

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same tokens on every machine.
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

}  // namespace

std::string BenchTest::name() const {
  std::string text;
  if (prompt > 0) text += fmt::format("pp{}", prompt);
  if (generate > 0) text += fmt::format("{}tg{}", text.empty() ? "" : "+", generate);
  if (depth > 0) text += fmt::format(" @ d{}", depth);
  return text;
}

BenchTest BenchTest::shortened() const { return {prompt, std::min<int64_t>(generate, 8), depth}; }

BenchSetting::BenchSetting(const Model& model, SessionOptions options, const std::vector<BenchTest>& tests,
                           uint64_t seed)
    : session_(model, sized_for(std::move(options), tests)) {
  session_.set_cancel(interrupted);
  const uint64_t vocabulary = static_cast<uint64_t>(model.info().vocabulary);
  for (int64_t i = 0; i < session_.options().context; ++i)
    tokens_.push_back(static_cast<TokenId>(next_random(seed) % vocabulary));
}

void BenchSetting::read(SequenceId sequence, int64_t begin, int64_t count) {
  const int64_t batch = session_.options().batch;
  for (int64_t at = begin, end = begin + count; at < end; at += batch) {
    const int64_t size = std::min(batch, end - at);
    // Only the last token's logits are wanted, as when a prompt is read to be answered.
    const RunRequest run{sequence, std::span(tokens_).subspan(static_cast<size_t>(at), static_cast<size_t>(size)),
                         at + size == end ? Want::kLast : Want::kNothing};
    session_.evaluate({&run, 1}, [](const LogitsRow&) {});
  }
}

SequenceId BenchSetting::sequence_at(int64_t depth) {
  auto found = std::ranges::find(by_depth_, depth, &std::pair<int64_t, SequenceId>::first);
  if (found == by_depth_.end()) {
    by_depth_.emplace_back(depth, session_.create());
    found = by_depth_.end() - 1;
    read(found->second, 0, depth);
  }
  session_.truncate(found->second, depth);
  return found->second;
}

double BenchSetting::seconds_for(const BenchTest& test, SequenceId sequence) {
  const auto start = std::chrono::steady_clock::now();
  read(sequence, test.depth, test.prompt);
  for (int64_t i = 0; i < test.generate; ++i) read(sequence, test.depth + test.prompt + i, 1);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double BenchSetting::measure(const BenchTest& test) {
  if (interrupted()) fail(ErrorCode::kCancelled, "interrupted");
  const SequenceId sequence = sequence_at(test.depth);
  const double seconds = seconds_for(test, sequence);
  return static_cast<double>(test.prompt + test.generate) / std::max(seconds, 1e-9);
}

std::string BenchSetting::profile(const BenchTest& test) {
  const SequenceId sequence = sequence_at(test.depth);
  session_.set_profile(true);
  seconds_for(test, sequence);
  const std::vector<ProfileLine> lines = session_.profile();
  session_.set_profile(false);
  return profile_tables(lines, fmt::format("{}, {}", test.name(), model().engine().device()));
}

}  // namespace ingle::app
