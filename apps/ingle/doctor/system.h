// What the operating system says about the machine, as far as speed depends on it. What it does not say is unknown.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ingle::app {

struct SystemFacts {
  std::optional<std::string> kernel;        // "Linux 6.1.0 x86_64"
  std::optional<std::string> governor;      // of the first processor: "performance", "powersave", ...
  std::optional<std::string> clock_driver;  // who changes the clock: "intel_pstate"
  std::optional<std::string> huge_pages;    // "always", "madvise", "never"
  std::optional<std::string> hypervisor;    // "KVM"; "yes" where it has no name; nothing where there is none
  std::optional<double> steal_percent;      // of all time since the start that other guests of the host took
  std::optional<double> load;               // programs that ran or wanted to, over the last minute
  bool emulated = false;                    // instructions of a processor that is not there
};

// `root`: "/", or a test's own tree with proc and sys in it.
SystemFacts read_system(const std::filesystem::path& root);

}  // namespace ingle::app
