// ingle quantize: a model file with weights of fewer bits, and what that costs tensor by tensor.
#include <boost/json.hpp>

#include "apps/ingle/catalogue.h"
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/input_files.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/perplexity/tensor_divergence.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"
#include "ingle/convert.h"
#include "ingle/quantize.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "type",
     .kind = ValueKind::kText,
     .value_name = "TYPE",
     .fallback = "q4_k_m",
     .help = "What matrices are stored as; --list shows what there is"},
    {.name = "pure", .help = "The same type for every matrix, also the output's"},
    {.name = "tensor-type",
     .kind = ValueKind::kText,
     .value_name = "PATTERN=TYPE",
     .help = "Another type for tensors whose names have the regular expression; may be given several times, the first "
             "that matches counts",
     .repeatable = true},
    {.name = "imatrix",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "How much each input of a matrix matters: rounding then spares those that do"},
    {.name = "kl-text",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Also show how far the model's distributions on this text move when a tensor alone is rounded "
             "(Kullback-Leibler divergence, nats); reads the text once for each tensor"},
    {.name = "kl-chunks",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 1,
     .most = kMostPositions,
     .fallback = "2",
     .help = "Windows of 128 tokens that --kl-text reads"},
    kSplit,
    kQuantizeThreads,
    {.name = "list", .help = "List the types there are"},
    {.name = "json", .help = "Print one JSON object"},
};
constexpr OptionGroup kQuantizeOptions{"File", kOptions};

std::string percent(double share) { return fmt::format("{:.3f} %", 100 * share); }

using Divergences = std::map<std::string, double>;  // by tensor; of none without --kl-text

std::string as_table(const QuantizeReport& report, const Divergences& kl) {
  std::vector<std::string> head = {"tensor", "shape", "from", "to", "size", "error"};
  if (!kl.empty()) head.emplace_back("KL");
  Table table(head, 4);
  for (const QuantizedTensor& t : report.tensors) {
    std::vector<std::string> row = {printable(t.name),
                                    t.shape,
                                    t.from,
                                    t.to + (t.weighted ? " (weighted)" : ""),
                                    format_bytes(static_cast<double>(t.to_bytes)),
                                    t.from == t.to ? "" : percent(t.relative_error)};
    if (!kl.empty()) row.push_back(kl.contains(t.name) ? fmt::format("{:.6f}", kl.at(t.name)) : "");
    table.add(row);
  }
  return table.text();
}

std::string as_json(const QuantizeReport& report, const Divergences& kl) {
  boost::json::array tensors, files;
  for (const QuantizedTensor& t : report.tensors) {
    tensors.push_back(boost::json::object{{"name", to_valid_utf8(t.name)},
                                          {"shape", t.shape},
                                          {"from", t.from},
                                          {"to", t.to},
                                          {"from_bytes", t.from_bytes},
                                          {"to_bytes", t.to_bytes},
                                          {"relative_error", t.relative_error},
                                          {"weighted", t.weighted}});
    if (kl.contains(t.name)) tensors.back().as_object()["kl"] = kl.at(t.name);
  }
  for (const auto& path : report.files) files.push_back(boost::json::value(to_valid_utf8(path.string())));
  return json_text(boost::json::object{{"tensors", std::move(tensors)},
                                       {"from_bytes", report.from_bytes},
                                       {"to_bytes", report.to_bytes},
                                       {"unweighted", report.unweighted},
                                       {"files", std::move(files)}}) +
         "\n";
}

QuantizeOptions read_options(const Arguments& arguments) {
  QuantizeOptions options{.type = arguments.text("type"), .pure = arguments.flag("pure")};
  for (const std::string& text : arguments.texts("tensor-type")) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
      fail(ErrorCode::kInvalidArgument, "--tensor-type: '{}' is not PATTERN=TYPE, such as attn_v=q8_0",
           printable(text));
    options.overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  options.importance = arguments.text("imatrix");
  options.keep = input_files(arguments);
  if (arguments.given("split")) options.max_shard_bytes = static_cast<uint64_t>(arguments.integer("split")) * 1'000'000;
  if (arguments.given("threads")) options.threads = static_cast<int>(arguments.integer("threads"));
  return options;
}

constexpr int64_t kWindow = 128;  // tokens of --kl-text read together

Windows read_windows(const Arguments& arguments, const std::filesystem::path& source) {
  const std::string text = read_text(arguments.text("kl-text"));
  Engine engine({.threads = 1});
  const Model vocabulary = Model::open(engine, source, {.vocabulary_only = true});
  return cut_windows(vocabulary, text, kWindow, arguments.integer("kl-chunks"), "give --kl-text a longer one");
}

// What each tensor that has another type now costs by itself, in exact arithmetic.
Divergences measure_divergence(const Arguments& arguments, const std::filesystem::path& source,
                               const QuantizeReport& report, const Windows& windows) {
  Engine engine(
      {.threads = arguments.given("threads") ? static_cast<int>(arguments.integer("threads")) : 0, .exact = true});
  const Model model = open_model(engine, source, arguments);
  Session session(model, {.context = kWindow});
  std::vector<std::string> changed;
  for (const QuantizedTensor& t : report.tensors)
    if (t.from != t.to) changed.push_back(t.name);
  Progress progress("measuring");
  Divergences kl = divergence_by_tensor(session, report.files.front(), changed, windows, [&](size_t count) {
    progress.update(static_cast<double>(count) / static_cast<double>(changed.size()),
                    fmt::format("{}/{} tensors", count, changed.size()));
  });
  progress.finish(fmt::format("measured {} tensors in {}", kl.size(), format_seconds(progress.seconds())));
  return kl;
}

// An imatrix that knows few of the matrices is most likely another model's.
void warn_uncovered(const QuantizeReport& report, const std::filesystem::path& importance) {
  int64_t rounded = 0, known = 0;
  for (const QuantizedTensor& t : report.tensors) {
    if (t.from == t.to || !t.name.starts_with("blk.")) continue;
    ++rounded;
    known += t.weighted;
  }
  if (2 * known < rounded)
    note("ingle: warning: {} says what matters in {} of {} matrices; is it of this model?",
         printable(importance.native()), known, rounded);
}

int quantize(const Arguments& arguments) {
  if (arguments.flag("list")) {
    const std::vector<std::string> names = encodable_types();
    if (arguments.flag("json")) {
      put("{}\n", json_text(boost::json::object{{"types", boost::json::value_from(names)}}));
    } else {
      put("{}\n", fmt::join(names, "\n"));
    }
    return kSuccess;
  }
  const std::optional<std::string> source = arguments.positional(0), target = arguments.positional(1);
  if (!source || !target)
    fail(ErrorCode::kInvalidArgument, "what is missing is {}: ingle quantize MODEL FILE (see: ingle quantize --help)",
         source ? "the file to write" : "the model and the file to write");
  if (arguments.given("kl-chunks") && !arguments.given("kl-text"))
    fail(ErrorCode::kInvalidArgument, "--kl-chunks: goes with --kl-text");
  QuantizeOptions options = read_options(arguments);
  const std::filesystem::path path = find_model(*source);
  std::optional<Windows> windows;
  if (arguments.given("kl-text")) windows = read_windows(arguments, path);
  Progress progress("writing " + printable(*target));
  options.progress = [&](double fraction) {
    progress.update(fraction);
    return !interrupted();
  };
  const QuantizeReport report = quantize_file(path, *target, options);
  progress.finish(fmt::format("wrote {} in {}", printable(*target), format_seconds(progress.seconds())));
  warn_unweighted(report.unweighted);
  if (!options.importance.empty()) warn_uncovered(report, options.importance);
  if (report.to_bytes > report.from_bytes)
    note("ingle: warning: the file is larger than the model it was made of, whose weights have fewer bits than {}",
         printable(options.type));
  const Divergences kl = windows ? measure_divergence(arguments, path, report, *windows) : Divergences();
  if (arguments.flag("json")) {
    write_stdout(as_json(report, kl));
  } else {
    put("{}\n{} instead of {}\n", as_table(report, kl), format_bytes(static_cast<double>(report.to_bytes)),
        format_bytes(static_cast<double>(report.from_bytes)));
  }
  return kSuccess;
}

}  // namespace

Command quantize_command() {
  return {
      {.name = "quantize",
       .summary = "make a model file smaller: weights of fewer bits",
       .description =
           "Shows for each tensor what it became and the error of rounding: the root of the mean square of what "
           "changed, as a share of the weights' own. Norms, biases and routers stay as they are; the output matrix "
           "keeps six bits unless --pure (five in a file of two or three). Types below 3.5 bits a weight need "
           "--imatrix to "
           "be of use; without it there is a warning. Start from F32, F16 or BF16: what is rounded twice is worse.",
       .positionals = {{.name = "MODEL", .help = "A GGUF file, or a catalogue name: smollm2", .kind = ValueKind::kFile},
                       {.name = "FILE", .help = "Where to write; replaced if it is there", .kind = ValueKind::kFile}},
       .groups = {&kQuantizeOptions, &kGeneralOptions},
       .examples = {{"ingle quantize model-f16.gguf model-q4.gguf", "to q4_k_m"},
                    {"ingle quantize model-f16.gguf small.gguf --type q3_k_m --tensor-type 'attn_v=q8_0'",
                     "some tensors better than the rest"},
                    {"ingle quantize model-f16.gguf small.gguf --type q3_k_m --kl-text text.txt",
                     "and how much each tensor changes what the model expects"}}},
      quantize};
}

}  // namespace ingle::app
