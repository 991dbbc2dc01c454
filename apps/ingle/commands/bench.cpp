// ingle bench: tokens per second for reading and for generating, measured in turns so that a machine that gets slower
// or faster meanwhile does it to all alike.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <map>
#include <set>

#include "apps/ingle/bench/measure.h"
#include "apps/ingle/bench/report.h"
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/explain.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

std::vector<BenchTest> tests_of(const Arguments& arguments) {
  std::vector<std::pair<int64_t, int64_t>> sizes;  // prompt, generate
  for (const int64_t n : arguments.integers("n-prompt"))
    if (n > 0) sizes.emplace_back(n, 0);
  for (const int64_t n : arguments.integers("n-gen"))
    if (n > 0) sizes.emplace_back(0, n);
  const std::vector<int64_t> pairs = arguments.integers("prompt-gen");
  if (pairs.size() % 2 != 0)
    fail(ErrorCode::kInvalidArgument, "-pg: takes pairs, a prompt size and a number of tokens: -pg 512,128");
  for (size_t i = 0; i < pairs.size(); i += 2) sizes.emplace_back(pairs[i], pairs[i + 1]);
  std::vector<BenchTest> tests;
  for (const int64_t depth : arguments.integers("n-depth"))
    for (const auto& [prompt, generate] : sizes) tests.push_back({prompt, generate, depth});
  if (tests.empty())
    fail(ErrorCode::kInvalidArgument, "nothing to measure: give -p N, -n N or -pg P,G with numbers above 0");
  return tests;
}

std::string date_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc));
}

int run_bench(const Arguments& arguments) {
  const std::vector<BenchTest> tests = tests_of(arguments);
  const std::filesystem::path path = model_path(arguments);
  const std::string format = arguments.flag("json") ? "json" : arguments.text("output");
  std::vector<int64_t> thread_counts = arguments.integers("threads");
  if (thread_counts.empty()) thread_counts = {0};

  // A thread count needs an engine of its own, and an engine its own model. Declared in this order, since a session
  // must not outlive its model, nor a model its engine.
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::unique_ptr<Model>> models;
  std::vector<std::unique_ptr<BenchSetting>> settings;
  for (const int64_t threads : thread_counts) {
    engines.push_back(std::make_unique<Engine>(engine_options(arguments, threads)));
    models.push_back(std::make_unique<Model>(open_model(*engines.back(), path, arguments)));
    for (const int64_t batch : arguments.integers("batch-size"))
      for (const int64_t micro_batch : arguments.integers("ubatch-size")) {
        SessionOptions options;
        options.batch = batch;
        options.micro_batch = micro_batch;
        options.cache_type_k = arguments.text("cache-type-k");
        options.cache_type_v = arguments.text("cache-type-v");
        settings.push_back(std::make_unique<BenchSetting>(*models.back(), options, tests,
                                                          static_cast<uint64_t>(arguments.integer("seed"))));
      }
  }

  const int64_t repetitions = arguments.integer("repetitions");
  const bool warmup = !arguments.flag("no-warmup");
  std::vector<BenchResult> results;
  for (const auto& setting : settings)
    for (const BenchTest& test : tests) results.push_back({setting.get(), test, {}});
  {
    Progress progress("measuring");
    const double steps = static_cast<double>(results.size()) * static_cast<double>(repetitions + (warmup ? 1 : 0));
    double done = 0;
    const auto step = [&](const BenchResult& result) { progress.update(done++ / steps, result.test.name()); };
    if (warmup)
      for (BenchResult& result : results) {
        step(result);
        result.setting->measure(result.test.shortened());
      }
    for (int64_t i = 0; i < repetitions; ++i)
      for (BenchResult& result : results) {
        step(result);
        result.samples.push_back(result.setting->measure(result.test));
      }
    progress.finish(fmt::format("measured in {}", format_seconds(progress.seconds())));
  }
  write_stdout(bench_report(results, format, date_now()));

  if (arguments.flag("profile"))
    for (const BenchResult& result : results) write_stderr(result.setting->profile(result.test) + "\n");
  return kSuccess;
}

}  // namespace

Command bench_command() {
  return {{.name = "bench",
           .summary = "measure tokens per second",
           .description = "Reads random tokens (pp512: a prompt of 512) and generates (tg128: 128 tokens one after the "
                          "other), each several "
                          "times, and prints the median with quartiles and extremes. Lists of sizes, thread counts and "
                          "batch sizes are all "
                          "combined; the repetitions of all combinations take turns.",
           .positionals = {{.name = "MODEL",
                            .help = "A GGUF file, or a catalogue name: smollm2",
                            .kind = ValueKind::kFile}},
           .groups = {&kModelOptions, &kBenchOptions, &kBenchMachineOptions, &kInsightOptions, &kGeneralOptions},
           .examples = {{"ingle bench smollm2", "a prompt of 512 and 128 generated tokens"},
                        {"ingle bench model.gguf -p 128,512,2048 -n 0 -t 1,2", "prompt sizes with one and two threads"},
                        {"ingle bench model.gguf -d 0,4096 -r 9 -o jsonl",
                         "with a full and an empty context, for programs"}}},
          run_bench};
}

}  // namespace ingle::app
