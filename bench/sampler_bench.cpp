// What choosing one token costs, from a row of logits shaped like a model's: most of them noise, a few that stand out.
#include <benchmark/benchmark.h>

#include <vector>

#include "runtime/random.h"
#include "runtime/sampler.h"

namespace {

// Noise of a standard deviation of about 2 (twelve uniform numbers add up to nearly a normal one), and one token in a
// thousand lifted by up to 12.
std::vector<float> logits_like_a_models(int64_t vocab) {
  ingle::Random random(7);
  std::vector<float> logits(static_cast<size_t>(vocab));
  for (float& x : logits) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    if (random.next() % 1000 == 0) sum += 6 * random.uniform();
    x = static_cast<float>(2 * sum);
  }
  return logits;
}

// `change` makes the chain from the default options.
template <class Change>
void run(benchmark::State& state, int context, Change change) {
  ingle::SamplerOptions options;
  change(options);
  const std::vector<float> logits = logits_like_a_models(state.range(0));
  ingle::Sampler sampler(options, static_cast<int32_t>(state.range(0)));
  ingle::Random random(11);
  for (int i = 0; i < context; ++i) sampler.accept(static_cast<int32_t>(random.next() % 1000));
  for (auto _ : state) benchmark::DoNotOptimize(sampler.sample(logits));
}

using Options = ingle::SamplerOptions;
void no_filters(Options& o) { o.top_k = 0, o.top_p = 1, o.min_p = 0; }

void BM_default_chain(benchmark::State& state) {
  run(state, 0, [](Options&) {});
}
void BM_greedy(benchmark::State& state) {
  run(state, 0, [](Options& o) { o.temperature = 0; });
}
void BM_penalties_context_4k(benchmark::State& state) {
  run(state, 4096, [](Options& o) { o.repetition_penalty = 1.1f, o.penalty_last_n = -1; });
}
void BM_dry_context_32k(benchmark::State& state) {
  run(state, 32768, [](Options& o) { o.dry_multiplier = 0.8f; });
}
void BM_top_k_5000(benchmark::State& state) {
  run(state, 0, [](Options& o) { o.top_k = 5000; });
}
void BM_only_top_p(benchmark::State& state) {
  run(state, 0, [](Options& o) { no_filters(o), o.top_p = 0.95f; });
}
void BM_only_min_p(benchmark::State& state) {
  run(state, 0, [](Options& o) { no_filters(o), o.min_p = 0.05f; });
}
void BM_only_typical(benchmark::State& state) {
  run(state, 0, [](Options& o) { no_filters(o), o.typical_p = 0.9f; });
}
void BM_only_temperature(benchmark::State& state) { run(state, 0, no_filters); }
void BM_mirostat(benchmark::State& state) {
  run(state, 0, [](Options& o) { o.mirostat = 2; });
}

}  // namespace

#define INGLE_VOCABULARIES ->Arg(49152)->Arg(151936)->Unit(benchmark::kMicrosecond)
BENCHMARK(BM_default_chain) INGLE_VOCABULARIES;
BENCHMARK(BM_greedy) INGLE_VOCABULARIES;
BENCHMARK(BM_penalties_context_4k) INGLE_VOCABULARIES;
BENCHMARK(BM_dry_context_32k) INGLE_VOCABULARIES;
BENCHMARK(BM_top_k_5000) INGLE_VOCABULARIES;
BENCHMARK(BM_only_top_p) INGLE_VOCABULARIES;
BENCHMARK(BM_only_min_p) INGLE_VOCABULARIES;
BENCHMARK(BM_only_typical) INGLE_VOCABULARIES;
BENCHMARK(BM_only_temperature) INGLE_VOCABULARIES;
BENCHMARK(BM_mirostat) INGLE_VOCABULARIES;
BENCHMARK_MAIN();
