// What the system says about the processor and the memory it runs on.
#include <unistd.h>

#include <algorithm>
#include <fstream>
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

}  // namespace

MachineInfo Engine::machine() {
  const ProcessorInfo processor = processor_info();
  MachineInfo info;
  info.processor = processor_name();
  info.logical_cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  info.physical_cores = processor.physical_cores;
  info.memory_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                      static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  info.features = processor.features;
  return info;
}

std::vector<std::string> Engine::isas() { return processor_info().isas; }

}  // namespace ingle
