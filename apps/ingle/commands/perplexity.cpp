// ingle perplexity: how well a model expects a text, and how far its distributions are from those kept of another.
#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/input_files.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/perplexity/distribution.h"
#include "apps/ingle/perplexity/logits_file.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/statistics.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "file",
     .short_name = "f",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Text to measure on; '-' reads stdin. Not needed with --kl"},
    {.name = "ctx-size",
     .short_name = "c",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 8,
     .most = kMostPositions,
     .fallback = "512",
     .help = "Window size; the second half of each window is scored, the first half is its context"},
    {.name = "chunks",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = -1,
     .most = kMostPositions,
     .fallback = "-1",
     .fallback_note = "all",
     .help = "Windows to measure"},
    {.name = "save-logits",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Keep every scored distribution, for a later --kl (the format is described above)"},
    {.name = "kl",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Compare with distributions saved by --save-logits: Kullback-Leibler divergence, same top token"},
    {.name = "json", .help = "Print one JSON object"},
    kBatchSize,
    kMicroBatchSize,
    kCacheTypeK,
    kCacheTypeV,
};
constexpr OptionGroup kPerplexityOptions{"Perplexity", kOptions};

constexpr uint64_t kWorthSaying = 1'000'000'000;  // a file of --save-logits this large deserves a word before

// What --kl finds: how this model's distributions differ from the kept ones.
struct Divergence {
  std::vector<double> values;  // a row each, in nats
  int64_t same_top = 0;
  Likelihood kept;  // of the text, by the kept distributions

  void add(const LogitsReader::Row& row, std::span<const float> logits, TokenId next) {
    values.push_back(kl_divergence(row.log_probabilities, logits));
    same_top += row.top == top_token(logits);
    kept.add(row.log_probabilities[static_cast<size_t>(next)] - log_sum_exp(row.log_probabilities));
  }
};

struct Measured {
  Likelihood likelihood;
  std::optional<Divergence> divergence;
  double seconds = 0;

  double tokens_per_second(const Windows& windows) const {
    return static_cast<double>(windows.tokens.size()) / std::max(seconds, 1e-9);
  }
};

Measured measure(Session& session, const Windows& windows, LogitsReader* kept, LogitsWriter* keep, bool verbose) {
  Measured measured;
  if (kept) measured.divergence.emplace();
  Progress progress("measuring");
  score_windows(
      session, windows,
      [&](int64_t, std::span<const float> logits, TokenId next) {
        measured.likelihood.add(logits[static_cast<size_t>(next)] - log_sum_exp(logits));
        if (kept) measured.divergence->add(kept->next(), logits, next);
        if (keep) keep->add(logits);
      },
      [&](int64_t window) {
        const std::string running = fmt::format("perplexity {:.4f}", measured.likelihood.perplexity());
        progress.update(static_cast<double>(window + 1) / static_cast<double>(windows.count()),
                        fmt::format("{}/{} windows, {}", window + 1, windows.count(), running));
        if (verbose) note("window {}/{}: {}", window + 1, windows.count(), running);
      });
  measured.seconds = progress.seconds();
  progress.finish(fmt::format("measured {} windows in {}", windows.count(), format_seconds(progress.seconds())));
  return measured;
}

boost::json::object as_json(const Measured& measured, const Windows& windows, const Session& session) {
  boost::json::object object{
      {"perplexity", measured.likelihood.perplexity()},
      {"standard_error", measured.likelihood.standard_error()},
      {"scored_tokens", measured.likelihood.count()},
      {"windows", windows.count()},
      {"window", windows.size},
      {"seconds", measured.seconds},
      {"tokens_per_second", measured.tokens_per_second(windows)},
      {"model", to_json(session.model().info())},
      {"engine", engine_json(session.model().engine())},
      {"settings", to_json(session.options())},
      {"version", version()},
  };
  if (!measured.divergence) return object;
  const Divergence& d = *measured.divergence;
  std::vector<double> sorted = d.values;
  std::ranges::sort(sorted);
  const Summary s = summarize(sorted);
  const double n = static_cast<double>(sorted.size());
  object["kl"] = {{"mean", s.mean},
                  {"standard_error", s.stddev / std::sqrt(n)},
                  {"median", s.median},
                  {"p99", quantile(sorted, 0.99)},
                  {"max", s.most},
                  {"same_top_percent", 100 * static_cast<double>(d.same_top) / n},
                  {"kept_perplexity", d.kept.perplexity()}};
  return object;
}

std::string as_text(const boost::json::object& json) {
  const auto number = [](const boost::json::object& object, std::string_view key) {
    return object.at(key).to_number<double>();
  };
  std::string text = fmt::format(
      "perplexity      {:.4f} +/- {:.4f}\nscored          {:.0f} tokens in {:.0f} windows of {:.0f}\nspeed           "
      "{:.1f} tokens/s\n",
      number(json, "perplexity"), number(json, "standard_error"), number(json, "scored_tokens"),
      number(json, "windows"), number(json, "window"), number(json, "tokens_per_second"));
  const boost::json::value* kl = json.if_contains("kl");
  if (!kl) return text;
  const boost::json::object& d = kl->as_object();
  text += fmt::format(
      "kept perplexity {:.4f}\nKL divergence   mean {:.6f} +/- {:.6f}, median {:.6f}, 99 % {:.6f}, max {:.6f} "
      "nats\nsame top token  {:.2f} %\n",
      number(d, "kept_perplexity"), number(d, "mean"), number(d, "standard_error"), number(d, "median"),
      number(d, "p99"), number(d, "max"), number(d, "same_top_percent"));
  return text;
}

int run_perplexity(const Arguments& arguments) {
  const bool compare = arguments.given("kl"), keep = arguments.given("save-logits");
  if (compare && keep) fail(ErrorCode::kInvalidArgument, "--kl and --save-logits: give one of them");
  if (compare && arguments.given("file")) fail(ErrorCode::kInvalidArgument, "--kl brings its own text; leave out -f");
  if (compare && arguments.given("ctx-size"))
    fail(ErrorCode::kInvalidArgument, "--kl brings its own window size; leave out -c");
  if (!compare && !arguments.given("file") && stdin_is_terminal())
    fail(ErrorCode::kInvalidArgument, "no text to measure on; give -f FILE");
  const std::filesystem::path path = model_path(arguments);
  if (keep) refuse_to_replace(arguments.text("save-logits"), input_files(arguments, {"save-logits"}));
  const std::string text = compare ? std::string() : read_text(arguments.given("file") ? arguments.text("file") : "-");
  std::optional<LogitsReader> kept;
  if (compare) kept.emplace(arguments.text("kl"));

  Engine engine(engine_options(arguments));
  const Model model = open_model(engine, path, arguments);
  const int64_t vocabulary = model.info().vocabulary;
  if (kept && kept->vocabulary() != vocabulary)
    fail(ErrorCode::kInvalidArgument, "{}: was made with a vocabulary of {}, this model has {}", arguments.text("kl"),
         kept->vocabulary(), vocabulary);
  Windows windows =
      kept ? kept->windows() : cut_windows(model, text, arguments.integer("ctx-size"), arguments.integer("chunks"));
  if (kept && arguments.integer("chunks") > 0)
    windows.tokens.resize(static_cast<size_t>(std::min(windows.count(), arguments.integer("chunks")) * windows.size));

  const Adapters adapters = open_adapters(model, arguments);
  SessionOptions options = session_options(arguments, adapters);
  options.context = windows.size;
  Session session(model, options);
  std::optional<LogitsWriter> writer;
  if (keep) {
    const uint64_t bytes = LogitsWriter::file_bytes(windows, vocabulary);
    if (bytes > kWorthSaying || arguments.flag("verbose"))
      note("keeping {} distributions in {}: {}", windows.count() * windows.scored(),
           printable(arguments.text("save-logits")), format_bytes(static_cast<double>(bytes)));
    writer.emplace(arguments.text("save-logits"), windows, vocabulary);
  }
  const Measured measured =
      measure(session, windows, kept ? &*kept : nullptr, writer ? &*writer : nullptr, arguments.flag("verbose"));
  if (writer) writer->commit();
  const boost::json::object result = as_json(measured, windows, session);
  write_stdout(arguments.flag("json") ? json_text(result) + "\n" : as_text(result));
  return kSuccess;
}

}  // namespace

Command perplexity_command() {
  return {
      {.name = "perplexity",
       .summary = "measure how well a model expects a text, or compare two",
       .description =
           "Cuts the text into windows of -c tokens and scores the second half of each, with the first half as "
           "context. Where "
           "the model wants a token at the beginning, each window begins with it. Lower is better; figures are "
           "comparable for "
           "the same text, window size and vocabulary only.\n\n"
           "With --save-logits every scored distribution is kept (two bytes for each token of the vocabulary), and "
           "--kl "
           "compares another model, format or way of computing with them: what quantisation costs, for instance.\n\n"
           "The file, little endian: the 8 bytes INGLELP1; u32 vocabulary, window, first scored position, windows; the "
           "token ids of all windows as i32; then for each scored position f32 lowest, f32 step, i32 likeliest token, "
           "and a "
           "u16 code for each token of the vocabulary: its log-probability in nats is lowest + step * code.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelOptions, &kAdapterOptions, &kPerplexityOptions, &kMachineOptions, &kGeneralOptions},
       .examples = {{"ingle perplexity model.gguf -f text.txt", "the whole text, in windows of 512"},
                    {"ingle perplexity model.gguf -f text.txt --chunks 20 --exact --save-logits exact.bin",
                     "keep the exact distributions"},
                    {"ingle perplexity model.gguf --kl exact.bin", "and see how far the default is from them"}}},
      run_perplexity};
}

}  // namespace ingle::app
