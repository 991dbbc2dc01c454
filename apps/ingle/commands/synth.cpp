// ingle synth: a GGUF file with a real model's shape and random weights, for measuring engines without a download.
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    kSyntheticType,
    {.name = "seed",
     .short_name = "s",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 0,
     .most = kMostSeed,
     .fallback = "1",
     .help = "Start of the random weights; the same seed gives the same file on every machine"},
    {.name = "list", .help = "List the shapes and how large their files are in TYPE"},
};
constexpr OptionGroup kSynthOptions{"File", kOptions};

std::string list_of_shapes(const std::string& type) {
  Table table({"shape", "architecture", "what", "parameters", "file"}, 3);
  for (const SyntheticShape& shape : synthetic_shapes()) {
    const uint64_t bytes = synthetic_bytes({.shape = shape.name, .type = type});
    table.add({shape.name, shape.architecture, shape.description, format_count(static_cast<double>(shape.parameters)),
               format_bytes(static_cast<double>(bytes))});
  }
  return table.text();
}

int synth(const Arguments& arguments) {
  if (arguments.flag("list")) {
    write_stdout(list_of_shapes(arguments.text("type")));
    return kSuccess;
  }
  const std::optional<std::string> shape = arguments.positional(0), file = arguments.positional(1);
  if (!shape || !file)
    fail(ErrorCode::kInvalidArgument, "what is missing is {}: ingle synth SHAPE FILE (see: ingle synth --list)",
         shape ? "the file to write" : "a shape and the file to write");
  Progress progress("writing " + printable(*file));
  const uint64_t bytes = write_synthetic(
      *file,
      {.shape = *shape, .type = arguments.text("type"), .seed = static_cast<uint64_t>(arguments.integer("seed"))},
      [&](double fraction) {
        progress.update(fraction);
        return !interrupted();
      });
  progress.finish(fmt::format("wrote {} in {}", printable(*file), format_seconds(progress.seconds())));
  if (arguments.flag("verbose"))
    note("{}: {} in {}", printable(*file), format_bytes(static_cast<double>(bytes)),
         format_seconds(progress.seconds()));
  return kSuccess;
}

}  // namespace

Command synth_command() {
  return {
      {.name = "synth",
       .summary = "write a model file of a real model's shape with random weights",
       .description =
           "The file has the metadata and tensors of the real model and a made-up vocabulary of the same size; "
           "other engines load it too. It takes the real model's time and memory, and what it says means "
           "nothing. Rows that are not whole blocks of TYPE, and matrices that suffer from few bits, are stored "
           "wider, as in real files; 'ingle inspect' shows which.",
       .positionals = {{.name = "SHAPE", .help = "A name from --list: gemma4-e2b"},
                       {.name = "FILE", .help = "Where to write; replaced if it is there", .kind = ValueKind::kFile}},
       .groups = {&kSynthOptions, &kGeneralOptions},
       .examples = {{"ingle synth --list --type q8_0", "what there is, and how large"},
                    {"ingle synth gemma4-e2b e2b.gguf --type q4_0", "for measuring another engine"}}},
      synth};
}

}  // namespace ingle::app
