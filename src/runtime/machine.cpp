// What the system says about the processor and the memory it runs on.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "backend/cpu/dispatch.h"
#include "ingle/engine.h"

namespace ingle {
namespace {

// "key : value" lines of /proc/cpuinfo, one block a logical processor.
struct CpuInfo {
  std::string processor;
  std::set<std::pair<std::string, std::string>> cores;  // (socket, core): two threads of a core count once
};

CpuInfo read_cpuinfo() {
  CpuInfo info;
  std::ifstream file("/proc/cpuinfo");
  std::string line, socket, core;
  const auto finish = [&] {
    if (!core.empty()) info.cores.emplace(socket, core);
    socket.clear();
    core.clear();
  };
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      finish();
      continue;
    }
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - (colon > 0)) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "model name" && info.processor.empty()) info.processor = value;
    if (key == "physical id") socket = value;
    if (key == "core id") core = value;
  }
  finish();
  return info;
}

}  // namespace

MachineInfo Engine::machine() {
  const CpuInfo cpu = read_cpuinfo();
  MachineInfo info;
  info.logical_cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  info.physical_cores =
      cpu.cores.empty() ? info.logical_cores : std::min(info.logical_cores, static_cast<int>(cpu.cores.size()));
  info.processor = cpu.processor.empty() ? "unknown processor" : cpu.processor;
  info.memory_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                      static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  info.features = cpu::describe(cpu::detect_features());
  return info;
}

std::vector<std::string> Engine::isas() {
  const cpu::CpuFeatures features = cpu::detect_features();
  std::vector<std::string> names;
  for (const cpu::IsaEntry& entry : cpu::isa_entries()) {
    if (entry.runs(features)) names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace ingle
