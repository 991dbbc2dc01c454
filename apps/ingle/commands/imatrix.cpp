// ingle imatrix: how much each input of a model's matrices matters, measured on a text.
#include <boost/json.hpp>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/input_files.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/perplexity/windows.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"
#include "ingle/importance.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "file",
     .short_name = "f",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Text to read; '-' reads stdin"},
    {.name = "output",
     .short_name = "o",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .fallback = "imatrix.gguf",
     .help = "Where to write; replaced if it is there"},
    {.name = "ctx-size",
     .short_name = "c",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 8,
     .most = kMostPositions,
     .fallback = "512",
     .help = "Window size: so many tokens are read together"},
    {.name = "chunks",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = -1,
     .most = kMostPositions,
     .fallback = "-1",
     .fallback_note = "all",
     .help = "Windows to read"},
    {.name = "skip",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 0,
     .most = kMostPositions,
     .fallback = "0",
     .help = "Windows to leave out at the beginning of the text: they were read before"},
    {.name = "in",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Count what this file of an earlier run counted too; may be given several times",
     .repeatable = true},
    {.name = "output-matrix",
     .help = "Also measure what comes into the output matrix, or into the token embedding where it is that"},
    {.name = "json", .help = "Print one JSON object"},
    kMicroBatchSize,
};
constexpr OptionGroup kImatrixOptions{"Importance", kOptions};

// Reads windows until the text ends or somebody interrupts: what was read by then is kept. Gives how many.
int64_t read_windows(ImportanceCollector& collector, const Windows& windows, int64_t first) {
  Progress progress("reading");
  int64_t window = first;
  try {
    for (; window < windows.count() && !interrupted(); ++window) {
      collector.read(std::span(windows.tokens)
                         .subspan(static_cast<size_t>(window * windows.size), static_cast<size_t>(windows.size)));
      progress.update(static_cast<double>(window + 1 - first) / static_cast<double>(windows.count() - first),
                      fmt::format("{}/{} windows", window + 1, windows.count()));
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
  }
  progress.finish(fmt::format("read {} windows in {}", window - first, format_seconds(progress.seconds())));
  return window - first;
}

std::string as_table(const std::vector<TensorImportance>& tensors) {
  Table table({"tensor", "columns", "rows", "mean square", "matrices", "unseen"}, 1);
  for (const TensorImportance& t : tensors) {
    const bool alike = t.least_rows == t.most_rows;
    table.add({printable(t.name), std::to_string(t.columns),
               alike ? std::to_string(t.most_rows) : fmt::format("{} to {}", t.least_rows, t.most_rows),
               fmt::format("{:.4g}", t.mean_square), std::to_string(t.matrices),
               t.unseen == 0 ? "" : std::to_string(t.unseen)});
  }
  return table.text();
}

std::string as_json(const ImportanceCollector& collector, const std::string& target, const Model& model) {
  boost::json::array tensors;
  for (const TensorImportance& t : collector.tensors())
    tensors.push_back(boost::json::object{{"name", to_valid_utf8(t.name)},
                                          {"matrices", t.matrices},
                                          {"columns", t.columns},
                                          {"least_rows", t.least_rows},
                                          {"most_rows", t.most_rows},
                                          {"unseen", t.unseen},
                                          {"mean_square", t.mean_square}});
  return json_text(boost::json::object{{"file", to_valid_utf8(target)},
                                       {"windows", collector.windows()},
                                       {"tensors", std::move(tensors)},
                                       {"model", to_json(model.info())},
                                       {"engine", engine_json(model.engine())},
                                       {"version", version()}}) +
         "\n";
}

int imatrix(const Arguments& arguments) {
  if (!arguments.given("file") && stdin_is_terminal())
    fail(ErrorCode::kInvalidArgument, "no text to read; give -f FILE");
  const std::filesystem::path path = model_path(arguments);
  const std::string source = arguments.given("file") ? arguments.text("file") : "-";
  const std::string target = arguments.text("output");
  refuse_to_replace(target, input_files(arguments, {"output", "in"}));  // what --in adds to may grow in its place
  require_writable(target);
  const std::string text = read_text(source);
  Engine engine(engine_options(arguments));
  const Model model = open_model(engine, path, arguments);
  const int64_t skipped = arguments.integer("skip"), most = arguments.integer("chunks");
  const Windows windows = cut_windows(model, text, arguments.integer("ctx-size"), most > 0 ? most + skipped : most);
  if (skipped >= windows.count())
    fail(ErrorCode::kInvalidArgument, "--skip {}: the text has {} windows", skipped, windows.count());
  ImportanceCollector collector(model, {.window = windows.size,
                                        .micro_batch = arguments.integer("ubatch-size"),
                                        .output = arguments.flag("output-matrix"),
                                        .cancelled = interrupted});
  for (const std::string& earlier : arguments.texts("in")) collector.add(earlier);
  const int64_t read = read_windows(collector, windows, skipped);
  if (read > 0) collector.write(target, std::filesystem::path(source).filename().string());
  if (skipped + read < windows.count()) {
    note("interrupted after {} of {} windows{}", skipped + read, windows.count(),
         read == 0 ? "" : fmt::format("; to go on: --in {} --skip {}", printable(target), skipped + read));
    return kInterrupted;
  }
  if (arguments.flag("json")) {
    write_stdout(as_json(collector, target, model));
  } else {
    put("{}\nwrote {}: {} windows\n", as_table(collector.tensors()), printable(target), collector.windows());
  }
  return kSuccess;
}

}  // namespace

Command imatrix_command() {
  return {
      {.name = "imatrix",
       .summary = "measure which inputs of a model's matrices matter, for quantize",
       .description =
           "Reads a text in windows of -c tokens and sums up the squares of what comes into each matrix, column by "
           "column; of a mixture for each expert by itself. ingle quantize --imatrix then rounds those columns best "
           "that get the most. The text should be like what the model is for; some hundred windows are plenty, and "
           "models with many experts need more, so that each sees some.\n\n"
           "Start from the model in F16 or Q8_0: the file fits every quantisation of the same model. Ctrl-C keeps what "
           "was read. The file is a GGUF of general.type imatrix, as llama.cpp reads and writes it.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelOptions, &kImatrixOptions, &kMachineOptions, &kGeneralOptions},
       .examples = {{"ingle imatrix model-f16.gguf -f text.txt", "writes imatrix.gguf"},
                    {"ingle imatrix model-f16.gguf -f more.txt --in imatrix.gguf -o both.gguf",
                     "adds another text to what was measured"},
                    {"ingle quantize model-f16.gguf small.gguf --type iq3_xxs --imatrix imatrix.gguf",
                     "and makes use of it"}}},
      imatrix};
}

}  // namespace ingle::app
