// ingle bench: tokens per second for reading and for generating, measured in turns so that a machine that gets slower
// or faster meanwhile does it to all alike.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

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

constexpr Option kBench[] = {
    {.name = "n-prompt",
     .short_name = "p",
     .kind = ValueKind::kIntegers,
     .value_name = "N,..",
     .least = 0,
     .most = kMostPositions,
     .fallback = "512",
     .help = "Prompt sizes to read; 0 for none",
     .repeatable = true},
    {.name = "n-gen",
     .short_name = "n",
     .kind = ValueKind::kIntegers,
     .value_name = "N,..",
     .least = 0,
     .most = kMostPositions,
     .fallback = "128",
     .help = "Numbers of tokens to generate; 0 for none",
     .repeatable = true},
    {.name = "prompt-gen",
     .short_name = "pg",
     .kind = ValueKind::kIntegers,
     .value_name = "P,G",
     .least = 1,
     .most = kMostPositions,
     .help = "Also read P tokens and generate G in one go; may be given several times",
     .repeatable = true},
    {.name = "n-depth",
     .short_name = "d",
     .kind = ValueKind::kIntegers,
     .value_name = "N,..",
     .least = 0,
     .most = kMostPositions,
     .fallback = "0",
     .help = "Tokens already in the context before each measurement",
     .repeatable = true},
    {.name = "sequences",
     .short_name = "ns",
     .kind = ValueKind::kIntegers,
     .value_name = "N,..",
     .least = 1,
     .most = 1024,
     .fallback = "1",
     .help = "Sequences that read or generate together, each its own tokens",
     .repeatable = true},
    {.name = "ragged",
     .help = "With --sequences: prompts and depths differ, from half to one and a half of the size, with the same sum"},
    {.name = "mixed",
     .help = "Read prompts while as many other sequences generate, in steps of --ubatch-size tokens that have both"},
    {.name = "rows",
     .kind = ValueKind::kChoice,
     .value_name = "WHICH",
     .choices = "needed|all|both",
     .fallback = "needed",
     .help = "Compute the rows that are needed, or all; both: in turns, with their ratio"},
    {.name = "all-rows", .help = "The same as --rows all"},
    {.name = "repetitions",
     .short_name = "r",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 1,
     .most = 10000,
     .fallback = "5",
     .help = "Measurements of each test; tests take turns, so that drift hits all alike"},
    {.name = "output",
     .short_name = "o",
     .kind = ValueKind::kChoice,
     .value_name = "FORMAT",
     .choices = "table|csv|md|json|jsonl",
     .fallback = "table",
     .help = "How results are printed"},
    {.name = "json", .help = "The same as -o json"},
    {.name = "seed",
     .short_name = "s",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 0,
     .most = kMostSeed,
     .fallback = "1",
     .help = "Start of the random numbers: tokens, ragged sizes, weights of --shape"},
    {.name = "no-warmup", .help = "Measure from a cold start"},
    {.name = "no-ceilings", .help = "Leave out what the machine can do at most: it takes about a second"},
};
constexpr OptionGroup kBenchOptions{"What to measure", kBench};

constexpr Option kBenchMachine[] = {
    {.name = "threads",
     .short_name = "t",
     .kind = ValueKind::kIntegers,
     .value_name = "N,..",
     .least = 1,
     .most = kMostThreads,
     .fallback_note = "one per physical core",
     .help = "Thread counts to compare",
     .repeatable = true,
     .environment = "INGLE_THREADS"},
    kIsa,
    kExact,
    kWeights,
    {.name = "batch-size",
     .short_name = "b",
     .kind = ValueKind::kIntegers,
     .value_name = "N,..",
     .least = 1,
     .most = kMostTokens,
     .fallback = "2048",
     .help = "Prompt tokens handed over at once, to compare",
     .repeatable = true},
    {.name = "ubatch-size",
     .short_name = "ub",
     .kind = ValueKind::kIntegers,
     .value_name = "N,..",
     .least = 1,
     .most = kMostMicroBatch,
     .fallback = "512",
     .help = "Prompt tokens computed together, to compare",
     .repeatable = true},
    kCacheTypeK,
    kCacheTypeV,
};
constexpr OptionGroup kBenchMachineOptions{"Machine", kBenchMachine};

// All sizes, with all depths and counts of sequences.
std::vector<BenchTest> tests_of(const Arguments& arguments) {
  const bool mixed = arguments.flag("mixed"), ragged = arguments.flag("ragged");
  if (mixed && (arguments.typed("n-gen") || arguments.typed("prompt-gen")))
    fail(ErrorCode::kInvalidArgument, "--mixed: generates as long as prompts are read, -n and -pg have no place there");
  if (ragged && !mixed && std::ranges::max(arguments.integers("sequences")) == 1)
    fail(ErrorCode::kInvalidArgument, "--ragged: goes with --sequences of 2 or more");
  std::vector<std::pair<int64_t, int64_t>> sizes;  // prompt, generate
  for (const int64_t n : arguments.integers("n-prompt"))
    if (n > 0) sizes.emplace_back(n, 0);
  if (!mixed)
    for (const int64_t n : arguments.integers("n-gen"))
      if (n > 0) sizes.emplace_back(0, n);
  const std::vector<int64_t> pairs = arguments.integers("prompt-gen");
  if (pairs.size() % 2 != 0)
    fail(ErrorCode::kInvalidArgument, "-pg: takes pairs, a prompt size and a number of tokens: -pg 512,128");
  for (size_t i = 0; i < pairs.size(); i += 2) sizes.emplace_back(pairs[i], pairs[i + 1]);
  std::vector<BenchTest> tests;
  for (const int64_t depth : arguments.integers("n-depth"))
    for (const int64_t sequences : arguments.integers("sequences"))
      for (const auto& [prompt, generate] : sizes)
        tests.push_back({.prompt = prompt,
                         .generate = generate,
                         .depth = depth,
                         .sequences = sequences,
                         .ragged = ragged && (prompt > 0 || depth > 0),
                         .mixed = mixed});
  if (tests.empty())
    fail(ErrorCode::kInvalidArgument, "nothing to measure: give -p N, -n N or -pg P,G with numbers above 0");
  return tests;
}

// --rows, and --all-rows, which is short for one of its values.
std::vector<bool> rows_of(const Arguments& arguments) {  // SessionOptions::every_row
  const std::string rows = arguments.text("rows");
  if (arguments.flag("all-rows")) {
    if (arguments.typed("rows") && rows != "all")
      fail(ErrorCode::kInvalidArgument, "--all-rows and --rows {} contradict each other", rows);
    return {true};
  }
  if (rows == "both") return {false, true};
  return {rows == "all"};
}

// --output, and --json, which is short for one of its values.
std::string format_of(const Arguments& arguments) {
  const std::string format = arguments.text("output");
  if (!arguments.flag("json")) return format;
  if (arguments.typed("output") && format != "json")
    fail(ErrorCode::kInvalidArgument, "--json and -o {} contradict each other", format);
  return "json";
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
  const bool synthetic = wants_shape(arguments);
  const std::filesystem::path path = synthetic ? std::filesystem::path() : model_path(arguments);
  const std::string format = format_of(arguments);
  std::vector<int64_t> thread_counts = arguments.integers("threads");
  if (thread_counts.empty()) thread_counts = {0};

  const std::vector<bool> rows = rows_of(arguments);

  // A thread count needs an engine of its own, and an engine its own model. Declared in this order, since a session
  // must not outlive its model, nor a model its engine.
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::unique_ptr<Model>> models;
  std::vector<std::unique_ptr<BenchSetting>> settings;
  for (const int64_t threads : thread_counts) {
    engines.push_back(std::make_unique<Engine>(engine_options(arguments, threads)));
    models.push_back(std::make_unique<Model>(synthetic ? open_shape(*engines.back(), arguments)
                                                       : open_model(*engines.back(), path, arguments)));
    for (const int64_t batch : arguments.integers("batch-size"))
      for (const int64_t micro_batch : arguments.integers("ubatch-size"))
        for (const bool every_row : rows) {
          SessionOptions options;
          options.batch = batch;
          options.micro_batch = micro_batch;
          options.cache_type_k = arguments.text("cache-type-k");
          options.cache_type_v = arguments.text("cache-type-v");
          options.every_row = every_row;
          settings.push_back(std::make_unique<BenchSetting>(*models.back(), options, tests,
                                                            static_cast<uint64_t>(arguments.integer("seed"))));
        }
  }

  const int64_t repetitions = arguments.integer("repetitions");
  const bool warmup = !arguments.flag("no-warmup");
  std::vector<BenchResult> results;
  results.reserve(settings.size() * tests.size());  // results point at one another
  // Needed rows and all rows, which are compared with each other, stand and are measured side by side.
  for (size_t i = 0; i < settings.size(); i += rows.size())
    for (const BenchTest& test : tests)
      for (size_t r = 0; r < rows.size(); ++r) results.push_back({settings[i + r].get(), test, {}});
  for (size_t i = 0; rows.size() == 2 && i < results.size(); i += 2) results[i].with_all_rows = &results[i + 1];
  // Ceilings before and after: the higher counts, since whatever else runs only makes them lower.
  std::vector<Ceilings> ceilings;  // of each engine
  const bool with_ceilings = !arguments.flag("no-ceilings");
  {
    Progress progress("measuring");
    if (with_ceilings)
      for (const auto& engine : engines) ceilings.push_back(engine->measure_ceilings());
    const double steps = static_cast<double>(results.size()) * static_cast<double>(repetitions + (warmup ? 1 : 0));
    double done = 0;
    const auto step = [&](const BenchResult& result) { progress.update(done++ / steps, result.test.name()); };
    if (warmup)
      for (BenchResult& result : results) {
        step(result);
        result.setting->measure(result.test.shortened());
      }
    // There and back: what comes first in one round comes last in the next.
    for (int64_t i = 0; i < repetitions; ++i)
      for (size_t j = 0; j < results.size(); ++j) {
        BenchResult& result = results[i % 2 == 0 ? j : results.size() - 1 - j];
        step(result);
        result.samples.push_back(result.setting->measure(result.test));
      }
    for (size_t i = 0; i < ceilings.size(); ++i) ceilings[i] = higher(ceilings[i], engines[i]->measure_ceilings());
    progress.finish(fmt::format("measured in {}", format_seconds(progress.seconds())));
  }
  for (BenchResult& result : results) {
    for (size_t i = 0; i < ceilings.size(); ++i) {
      if (&result.setting->model() == models[i].get())
        result.set_floor(ceilings[i], result.setting->count_work(result.test));
    }
  }
  write_stdout(bench_report(results, format, date_now()));

  if (arguments.flag("profile"))
    for (const BenchResult& result : results) write_stderr(result.setting->profile(result.test) + "\n");
  if (arguments.flag("trace-ops"))
    for (const BenchResult& result : results)
      result.setting->trace(result.test, [](std::string_view line) { note("{}", line); });
  if (arguments.flag("check-ops"))
    for (const BenchResult& result : results) write_stderr(result.setting->check(result.test) + "\n");
  return kSuccess;
}

}  // namespace

Command bench_command() {
  return {{.name = "bench",
           .summary = "measure tokens per second",
           .description =
               "Reads random tokens (pp512: a prompt of 512) and generates (tg128: 128 tokens one after the other), "
               "each several times, and prints the median with quartiles and extremes. Lists of sizes, sequences, "
               "thread counts and batch sizes are all combined; the repetitions of all combinations take turns.\n\n"
               "With --sequences, several sequences read their own prompts in one step or generate a token each in "
               "every step; rates count the tokens of all. With --rows both, everything is measured with the rows "
               "that somebody needs and with all rows, in turns, and the last column says how many times as fast the "
               "needed ones were.\n\n"
               "Before and after, the machine's own ceilings are measured: how fast so many threads read memory, and "
               "how many multiply-adds they do on int8 and f32 numbers, in loops that do nothing else. The column "
               "limit is the rate of a run that computes everything at those rates, or reads every weight and every "
               "visible key and value once, whichever takes longer; share is how much of it was reached. A limit is "
               "never reached: it leaves out norms, softmax and activations, counts experts as if all rows went to "
               "the same ones, and every product once even where its input is taken to 15 bits.\n\n"
               "With --shape in place of a model, the model has a real one's shape and random weights, made in "
               "memory: its speed is real, its text is not.",
           .positionals = {{.name = "MODEL",
                            .help = "A GGUF file, or a catalogue name: smollm2",
                            .kind = ValueKind::kFile}},
           .groups = {&kModelOptions, &kShapeOptions, &kBenchOptions, &kBenchMachineOptions, &kInsightOptions,
                      &kGeneralOptions},
           .examples = {{"ingle bench smollm2", "a prompt of 512 and 128 generated tokens"},
                        {"ingle bench model.gguf -p 128,512,2048 -n 0 -t 1,2", "prompt sizes with one and two threads"},
                        {"ingle bench model.gguf -d 0,4096 -r 9 -o jsonl",
                         "with a full and an empty context, for programs"},
                        {"ingle bench --shape gemma4-e2b --type q4_0 -p 2048 -n 0 --rows both",
                         "what leaving out unneeded rows gains, without a file"},
                        {"ingle bench model.gguf --sequences 1,4,16 --ragged",
                         "one sequence and several, of different lengths"},
                        {"ingle bench model.gguf -p 512 --sequences 4 --mixed",
                         "four prompts arriving while four sequences generate"}}},
          run_bench};
}

}  // namespace ingle::app
