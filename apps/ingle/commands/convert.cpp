// ingle convert: a model's folder as it is published, made one GGUF file.
#include <boost/json.hpp>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

int convert(const Arguments& arguments) {
  if (arguments.flag("list")) {
    for (const std::string& name : convertible_models()) put("{}\n", name);
    return kSuccess;
  }
  const std::optional<std::string> folder = arguments.positional(0), file = arguments.positional(1);
  if (!folder || !file)
    fail(ErrorCode::kInvalidArgument, "what is missing is {}: ingle convert FOLDER FILE (see: ingle convert --help)",
         folder ? "the file to write" : "the model's folder and the file to write");
  Progress progress("writing " + printable(*file));
  const uint64_t shard_bytes =
      arguments.given("split") ? static_cast<uint64_t>(arguments.integer("split")) * 1'000'000 : 0;
  const ConvertReport report =
      convert_folder(*folder, *file,
                     {.type = arguments.text("type"),
                      .max_shard_bytes = shard_bytes,
                      .threads = arguments.given("threads") ? static_cast<int>(arguments.integer("threads")) : 0,
                      .progress = [&](double fraction) {
                        progress.update(fraction);
                        return !interrupted();
                      }});
  progress.finish(fmt::format("wrote {} in {}", printable(*file), format_seconds(progress.seconds())));
  if (arguments.flag("json")) {
    boost::json::array files;
    for (const auto& path : report.files) files.push_back(boost::json::value(to_valid_utf8(path.string())));
    put("{}\n", json_text(boost::json::object{{"architecture", report.architecture},
                                              {"tensors", report.tensors},
                                              {"parameters", report.parameters},
                                              {"bytes", report.bytes},
                                              {"files", std::move(files)}}));
  } else {
    put("{}: {} tensors, {} parameters, {}{}\n", report.architecture, report.tensors,
        format_count(static_cast<double>(report.parameters)), format_bytes(static_cast<double>(report.bytes)),
        report.files.size() > 1 ? fmt::format(" in {} files", report.files.size()) : "");
  }
  return kSuccess;
}

}  // namespace

Command convert_command() {
  return {
      {.name = "convert",
       .summary = "make a GGUF file of a model's Hugging Face folder",
       .description =
           "The folder has config.json, the weights as safetensors, tokenizer.json and what goes with them. Every "
           "tensor's name and shape is checked before anything is written: one that is missing, or that the model "
           "has no place for, is an error. Memory holds a few rows of one tensor at a time.",
       .positionals = {{.name = "FOLDER", .help = "The model's folder", .kind = ValueKind::kDirectory},
                       {.name = "FILE", .help = "Where to write; replaced if it is there", .kind = ValueKind::kFile}},
       .groups = {&kConvertOptions, &kGeneralOptions},
       .examples = {{"ingle convert Qwen3-0.6B qwen3.gguf", "in f16"},
                    {"ingle convert Qwen3-0.6B qwen3-q4.gguf --type q4_k_m", "quantised on the way"}}},
      convert};
}

}  // namespace ingle::app
