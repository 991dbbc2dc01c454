// What costs speed on a machine, and what helps. Each finding is one that a user can see for himself on the page.
#include <fmt/format.h>

#include <algorithm>

#include "apps/ingle/doctor/diagnosis.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr uint64_t kLittleMemory = uint64_t{2} << 30;
constexpr double kMuchSteal = 2;       // percent
constexpr double kHugePagesGot = 0.9;  // less than this share is worth a word

// These drivers' "powersave" follows the load like other drivers' "ondemand".
bool follows_load(const SystemFacts& system) {
  const std::string driver = system.clock_driver.value_or("");
  return driver == "intel_pstate" || driver.starts_with("amd-pstate");
}

}  // namespace

std::vector<Advice> advise(const Diagnosis& d) {
  std::vector<Advice> list;
  const auto add = [&](std::string finding, std::string remedy) {
    list.push_back({std::move(finding), std::move(remedy)});
  };
  if (d.build.find("Debug") != std::string::npos || d.build.find("-fsanitize") != std::string::npos)
    add(fmt::format("this is a build for finding mistakes ({}): many times slower", d.build),
        "build with -DCMAKE_BUILD_TYPE=Release and without sanitizers");
  if (d.system.emulated)
    add("the processor is emulated: nothing measured here says anything about speed", "run on the processor itself");
  if (!d.isas.empty() && d.isa != d.isas.front())
    add(fmt::format("--isa or INGLE_ISA asks for {}, this processor can run {}", d.isa, d.isas.front()),
        "leave it out to use the best");
  else if (d.isa == "scalar")
    add("no kernels for this processor's vector instructions: only the scalar ones run",
        "use a processor with AVX2 (x86) or the dot product extension (ARM)");
  if (d.threads > d.machine.physical_cores)
    add(fmt::format("{} threads on {} physical core{}: they take turns, and wait for one another", d.threads,
                    d.machine.physical_cores, d.machine.physical_cores == 1 ? "" : "s"),
        fmt::format("use --threads {}, or leave it out", d.machine.physical_cores));
  if (d.machine.processor_limit > 0 && d.threads > d.machine.processor_limit + 0.05)
    add(fmt::format("{} threads, but the control group may use {:.1f} processors' time: they are stopped again and "
                    "again",
                    d.threads, d.machine.processor_limit),
        fmt::format("use --threads {}, or raise the limit (docker: --cpus)",
                    std::max(1, static_cast<int>(d.machine.processor_limit))));
  if (d.system.huge_pages == "never") {
    add("huge pages are off: memory is read up to a quarter slower",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
  } else if (!d.ceilings.empty() && d.ceilings.back().huge_pages.value_or(1) < kHugePagesGot) {
    add(fmt::format("only {:.0f} % of the memory asked for came as huge pages: free memory is in small pieces",
                    100 * *d.ceilings.back().huge_pages),
        "echo 1 | sudo tee /proc/sys/vm/compact_memory, or close other programs");
  }
  if (d.system.governor == "powersave" && !follows_load(d.system))
    add("the clock is held at its lowest (governor powersave)", "sudo cpupower frequency-set -g performance");
  if (d.system.steal_percent.value_or(0) > kMuchSteal)
    add(fmt::format("other guests of the host took {:.1f} % of this machine's time", *d.system.steal_percent),
        "measure more often, and compare only what was measured in turns");
  if (d.system.load.value_or(0) > 0.5 * d.machine.physical_cores)
    add(fmt::format("other programs are at work (load {:.1f} on {} cores)", *d.system.load, d.machine.physical_cores),
        "measure when they have ended");
  if (d.machine.available_bytes > 0 && d.machine.available_bytes < kLittleMemory)
    add(fmt::format("only {} of memory are left{}", format_bytes(static_cast<double>(d.machine.available_bytes)),
                    d.machine.memory_limit_bytes > 0 ? " within the control group's limit" : ""),
        "'ingle inspect MODEL' says what a model takes; close other programs or raise the limit");
  return list;
}

}  // namespace ingle::app
