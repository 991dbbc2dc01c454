// ingle doctor: what this machine is, what ingle makes of it, and what costs speed; one page for a bug report.
#include <algorithm>
#include <boost/json.hpp>

#include "apps/ingle/commands.h"
#include "apps/ingle/doctor/diagnosis.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/files.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "json", .help = "Print one JSON object"},
    {.name = "no-ceilings", .help = "Leave out what is measured: it takes a second or two"},
};
constexpr OptionGroup kDoctorOptions{"Output", kOptions};

// Files in the folder of models by name. A folder that is not there has none.
std::vector<std::pair<std::string, uint64_t>> files_in(const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, uint64_t>> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    const uint64_t bytes = at->is_regular_file(unreadable) ? at->file_size(unreadable) : 0;
    if (!unreadable && bytes > 0 && at->path().extension() == ".gguf")
      files.emplace_back(at->path().filename().string(), bytes);
  }
  std::ranges::sort(files);
  return files;
}

int run_doctor(const Arguments& arguments) {
  // Before anything is measured: the load is what others do.
  Diagnosis d{.version = std::string(version()),
              .build = std::string(build()),
              .machine = Engine::machine(),
              .system = read_system("/"),
              .isas = Engine::isas(),
              .isa = {},
              .ceilings = {},
              .models_folder = user_directory("XDG_CACHE_HOME", ".cache") / "models",
              .models = {}};
  d.models = files_in(d.models_folder);
  const Engine engine(engine_options(arguments));
  d.isa = engine.isa();
  d.threads = engine.threads();
  if (!arguments.flag("no-ceilings")) {
    Progress progress("measuring");
    if (d.threads > 1) d.ceilings.push_back(Engine(engine_options(arguments, 1)).measure_ceilings());
    progress.update(0.5, "ceilings");
    d.ceilings.push_back(engine.measure_ceilings());
    progress.finish(fmt::format("measured in {}", format_seconds(progress.seconds())));
  }
  write_stdout(arguments.flag("json") ? json_text(to_json(d)) + "\n" : to_page(d));
  return kSuccess;
}

}  // namespace

Command doctor_command() {
  return {{.name = "doctor",
           .summary = "say what this machine can do and what costs speed",
           .description =
               "Prints one page about the build, the processor and the memory: which kernels would run and why, how "
               "many threads, what the system allows, and the ceilings that 'ingle bench' holds speeds against, "
               "measured. Below it stands what costs speed, each with what helps. The page belongs into a bug "
               "report; it names no user and no file but the models in ingle's own folder.\n\n"
               "What the system does not say is unknown, and no error.",
           .groups = {&kDoctorOptions, &kMachineOptions, &kGeneralOptions},
           .examples = {{"ingle doctor", "what to put in a bug report"},
                        {"ingle doctor --json | jq .advice", "what costs speed, for programs"}}},
          run_doctor};
}

}  // namespace ingle::app
