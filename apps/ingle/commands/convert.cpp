// ingle convert: the folder of a model or an adapter, as it is published, made one GGUF file.
#include <boost/json.hpp>

#include "apps/ingle/catalogue.h"
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "type",
     .kind = ValueKind::kText,
     .value_name = "TYPE",
     .fallback = "f16",
     .help = "What matrices are stored as: f32, f16, bf16, q8_0, q4_k_m, ...; norms and biases are f32"},
    {.name = "base",
     .kind = ValueKind::kFile,
     .value_name = "MODEL",
     .help = "The folder is a LoRA adapter's, and this the model it is for, a GGUF file"},
    kSplit,
    kQuantizeThreads,
    {.name = "dry-run", .help = "Check the folder and show what would be written, without writing"},
    {.name = "list", .help = "List the models that can be converted"},
    {.name = "json", .help = "Print one JSON object about what was written"},
};
constexpr OptionGroup kConvertOptions{"File", kOptions};

std::string as_json(const ConvertReport& report) {
  boost::json::array files, tensors;
  for (const auto& path : report.files) files.push_back(boost::json::value(to_valid_utf8(path.string())));
  for (const ConvertedTensor& t : report.tensors)
    tensors.push_back(
        boost::json::object{{"name", to_valid_utf8(t.name)}, {"shape", t.shape}, {"type", t.type}, {"bytes", t.bytes}});
  return json_text(boost::json::object{{"architecture", report.architecture},
                                       {"tensors", std::move(tensors)},
                                       {"parameters", report.parameters},
                                       {"left_out", report.left_out},
                                       {"unweighted", report.unweighted},
                                       {"notes", boost::json::value_from(report.notes)},
                                       {"bytes", report.bytes},
                                       {"files", std::move(files)}}) +
         "\n";
}

std::string as_table(const ConvertReport& report) {
  Table table({"tensor", "shape", "type", "size"}, 3);
  for (const ConvertedTensor& t : report.tensors)
    table.add({printable(t.name), t.shape, t.type, format_bytes(static_cast<double>(t.bytes))});
  return table.text();
}

void print(const ConvertReport& report, bool with_tensors) {
  if (with_tensors) put("{}\n", as_table(report));
  put("{}: {} tensors, {} parameters, {}{}\n", report.architecture, report.tensors.size(),
      format_count(static_cast<double>(report.parameters)), format_bytes(static_cast<double>(report.bytes)),
      report.files.size() > 1 ? fmt::format(" in {} files", report.files.size()) : "");
  if (report.left_out > 0)
    put("left out: {} tensors that are not the language model's (vision, sound, drafting)\n", report.left_out);
  for (const std::string& note : report.notes) put("note: {}\n", printable(note));
}

int convert(const Arguments& arguments) {
  if (arguments.flag("list")) {
    const std::vector<std::string> names = convertible_models();
    if (arguments.flag("json")) {
      put("{}\n", json_text(boost::json::object{{"models", boost::json::value_from(names)}}));
    } else {
      put("{}\n", fmt::join(names, "\n"));
    }
    return kSuccess;
  }
  const bool dry_run = arguments.flag("dry-run");
  const std::optional<std::string> folder = arguments.positional(0), file = arguments.positional(1);
  if (!folder || (!file && !dry_run))
    fail(ErrorCode::kInvalidArgument, "what is missing is {}: ingle convert FOLDER FILE (see: ingle convert --help)",
         folder ? "the file to write" : "the model's folder and the file to write");
  const bool adapter = arguments.given("base");
  if (adapter && arguments.given("split"))
    fail(ErrorCode::kInvalidArgument, "--split: an adapter is written as one file");
  ConvertOptions options{.type = arguments.text("type"), .dry_run = dry_run};
  if (arguments.given("split")) options.max_shard_bytes = static_cast<uint64_t>(arguments.integer("split")) * 1'000'000;
  if (arguments.given("threads")) options.threads = static_cast<int>(arguments.integer("threads"));
  const auto write = [&](const std::filesystem::path& target) {
    return adapter ? convert_adapter(*folder, find_model(arguments.text("base")), target, options)
                   : convert_folder(*folder, target, options);
  };
  ConvertReport report;
  if (dry_run) {
    report = write("");
  } else {
    Progress progress("writing " + printable(*file));
    options.progress = [&](double fraction) {
      progress.update(fraction);
      return !interrupted();
    };
    report = write(*file);
    progress.finish(fmt::format("wrote {} in {}", printable(*file), format_seconds(progress.seconds())));
  }
  warn_unweighted(report.unweighted);
  if (arguments.flag("json")) {
    write_stdout(as_json(report));
  } else {
    print(report, dry_run);
  }
  return kSuccess;
}

}  // namespace

Command convert_command() {
  return {
      {.name = "convert",
       .summary = "make a GGUF file of a model's Hugging Face folder",
       .description =
           "The folder has config.json, the weights as safetensors, tokenizer.json or tokenizer.model, and what goes "
           "with them. Every tensor's name and shape is checked before anything is written: one that is missing, or "
           "that the model has no place for, is an error. Of a model that also sees or hears the language model is "
           "taken. Memory holds a few rows of one tensor at a time.\n\n"
           "With --base the folder is that of a LoRA adapter as the PEFT library saves it (adapter_config.json, "
           "adapter_model.safetensors), and the file is what --lora takes.",
       .positionals = {{.name = "FOLDER",
                        .help = "The folder of the model, or of the adapter",
                        .kind = ValueKind::kDirectory},
                       {.name = "FILE", .help = "Where to write; replaced if it is there", .kind = ValueKind::kFile}},
       .groups = {&kConvertOptions, &kGeneralOptions},
       .examples = {{"ingle convert Qwen3-0.6B qwen3.gguf", "in f16"},
                    {"ingle convert Qwen3-0.6B qwen3-q4.gguf --type q4_k_m", "quantised on the way"},
                    {"ingle convert Qwen3-0.6B --dry-run", "only what would be written"},
                    {"ingle convert my-adapter style.gguf --base qwen3.gguf", "an adapter of that model"}}},
      convert};
}

}  // namespace ingle::app
