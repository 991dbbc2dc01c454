// ingle version: which program this is; with -v also how it was built and what it runs on.
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/terminal.h"
#include "ingle/engine.h"

namespace ingle::app {
namespace {

int show_version(const Arguments& arguments) {
  put("ingle {}\n", version());
  if (!arguments.flag("verbose")) return kSuccess;
  const MachineInfo machine = Engine::machine();
  put("build:     {}\nprocessor: {}\ncores:     {} physical, {} logical\nmemory:    {}\nfeatures:  {}\nisas:      {}\n",
      build(), machine.processor, machine.physical_cores, machine.logical_cores,
      format_bytes(static_cast<double>(machine.memory_bytes)), machine.features, fmt::join(Engine::isas(), " "));
  return kSuccess;
}

}  // namespace

Command version_command() {
  return {{.name = "version",
           .summary = "show the version; with -v the build and the machine",
           .description = "The same as ingle --version.",
           .groups = {&kGeneralOptions},
           .examples = {{"ingle version -v", "what to put in a bug report"}}},
          show_version};
}

}  // namespace ingle::app
