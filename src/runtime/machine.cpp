// What the system says about the processor and the memory it runs on, and about the control group whose share of them
// is ours. A file that is not there says nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include "backend/processor.h"
#include "ingle/engine.h"

namespace ingle {
namespace {

// The first "model name : value" of /proc/cpuinfo.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// The line "NAME:   123 kB" of a file like /proc/meminfo, in bytes; 0 when it is not there.
uint64_t kilobytes(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
  }
  return 0;
}

struct GroupLimits {
  uint64_t memory_bytes = 0, memory_left = std::numeric_limits<uint64_t>::max();
  double processors = 0;
};

// A number in a file of its own; "max", -1 (version 1's word for it) and what is not there are nothing.
std::optional<uint64_t> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number && number >= 0) return static_cast<uint64_t>(number);
  return std::nullopt;
}

// The limits of one control group, in either version's files.
void add_limits(GroupLimits& limits, const std::filesystem::path& memory, const std::filesystem::path& processor) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 writes a very large number
  const bool second = std::filesystem::exists(memory / "memory.max");
  const auto most = number_in(memory / (second ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(memory / (second ? "memory.current" : "memory.usage_in_bytes"));
  if (most && *most < kNoLimit) {
    limits.memory_bytes = limits.memory_bytes == 0 ? *most : std::min(limits.memory_bytes, *most);
    limits.memory_left = std::min(limits.memory_left, *most - std::min(*most, used.value_or(0)));
  }
  double quota = 0, period = 0;
  if (std::ifstream file(processor / "cpu.max"); !(file >> quota >> period)) {
    quota = static_cast<double>(number_in(processor / "cpu.cfs_quota_us").value_or(0));
    period = static_cast<double>(number_in(processor / "cpu.cfs_period_us").value_or(0));
  }
  if (quota > 0 && period > 0)
    limits.processors = limits.processors == 0 ? quota / period : std::min(limits.processors, quota / period);
}

// A group is also bound by those it is in. Version 2 has one line "0::/path", version 1 one for each kind of limit.
GroupLimits group_limits() {
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::string memory = "/", processor = "/";
  bool memory_v1 = false, processor_v1 = false;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kinds = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (kinds.find(",memory,") != std::string::npos) memory = path, memory_v1 = true;
    if (kinds.find(",cpu,") != std::string::npos) processor = path, processor_v1 = true;
    if (kinds == ",,") {
      if (!memory_v1) memory = path;
      if (!processor_v1) processor = path;
    }
  }
  const std::filesystem::path memory_root = memory_v1 ? root / "memory" : root;
  const std::filesystem::path processor_root = processor_v1 ? root / "cpu" : root;
  GroupLimits limits;
  for (std::filesystem::path at = memory;; at = at.parent_path()) {
    add_limits(limits, memory_root / at.relative_path(), {});
    if (!at.has_relative_path()) break;
  }
  for (std::filesystem::path at = processor;; at = at.parent_path()) {
    add_limits(limits, {}, processor_root / at.relative_path());
    if (!at.has_relative_path()) break;
  }
  return limits;
}

}  // namespace

MachineInfo Engine::machine() {
  const ProcessorInfo processor = processor_info();
  MachineInfo info;
  info.processor = processor_name();
  info.logical_cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  info.physical_cores = processor.physical_cores;
  info.memory_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                      static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  const GroupLimits limits = group_limits();
  info.available_bytes = std::min(kilobytes("/proc/meminfo", "MemAvailable:"), limits.memory_left);
  info.memory_limit_bytes = limits.memory_bytes;
  info.processor_limit = limits.processors;
  info.features = processor.features;
  info.other_isas = processor.others;
  return info;
}

std::vector<std::string> Engine::isas() { return processor_info().isas; }

}  // namespace ingle
