#include "apps/ingle/doctor/system.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

namespace fs = std::filesystem;

// The first line of a small file.
std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.empty()) return std::nullopt;
  return to_valid_utf8(line);
}

// "always [madvise] never": the one in brackets.
std::optional<std::string> chosen(const std::optional<std::string>& line) {
  if (!line) return std::nullopt;
  const size_t open = line->find('['), close = line->find(']', open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return line->substr(open + 1, close - open - 1);
}

// "NAME<tab>: value" of the first processor.
std::optional<std::string> processor_line(const fs::path& root, std::string_view name) {
  std::ifstream file(root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos || !line.starts_with(name)) continue;
    const std::string key = line.substr(0, line.find_first_of("\t:"));
    if (key == name) return to_valid_utf8(line.substr(colon + 2));
  }
  return std::nullopt;
}

bool has_word(const std::string& words, std::string_view wanted) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

std::optional<std::string> hypervisor(const fs::path& root) {
  if (const auto type = first_line(root / "sys/hypervisor/type")) return type;
  const auto flags = processor_line(root, "flags");
  if (!flags || !has_word(*flags, "hypervisor")) return std::nullopt;
  return first_line(root / "sys/class/dmi/id/sys_vendor").value_or("yes");
}

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice" in ticks; guests' time is in user and nice
// too.
std::optional<double> steal_percent(const fs::path& root) {
  std::ifstream file(root / "proc/stat");
  std::string name;
  if (!(file >> name) || name != "cpu") return std::nullopt;
  double all = 0, steal = 0;
  for (int i = 0; i < 8; ++i) {
    double ticks = 0;
    if (!(file >> ticks)) return std::nullopt;
    all += ticks;
    if (i == 7) steal = ticks;
  }
  if (all <= 0) return std::nullopt;
  return 100 * steal / all;
}

std::optional<double> load(const fs::path& root) {
  std::ifstream file(root / "proc/loadavg");
  double average = 0;
  if (file >> average) return average;
  return std::nullopt;
}

}  // namespace

SystemFacts read_system(const fs::path& root) {
  SystemFacts facts;
  utsname names{};
  const bool named = uname(&names) == 0;
  if (named) facts.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  const fs::path clock = root / "sys/devices/system/cpu/cpu0/cpufreq";
  facts.governor = first_line(clock / "scaling_governor");
  facts.clock_driver = first_line(clock / "scaling_driver");
  facts.huge_pages = chosen(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.hypervisor = hypervisor(root);
  facts.steal_percent = steal_percent(root);
  facts.load = load(root);
  // A whole machine that is emulated says so in its processor's name; a single program that is sees the host's.
  const std::string processor = processor_line(root, "model name").value_or("");
  const bool foreign = named && std::string_view(names.machine) == "aarch64" && processor_line(root, "vendor_id");
  facts.emulated = foreign || processor.find("QEMU Virtual CPU") != std::string::npos ||
                   processor.find("QEMU TCG CPU") != std::string::npos;
  return facts;
}

}  // namespace ingle::app
