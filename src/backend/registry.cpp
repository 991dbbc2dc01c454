// One line a backend.
#include <fmt/ranges.h>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/processor.h"
#include "base/error.h"

namespace ingle {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)(const BackendOptions&);
};
constexpr Entry kBackends[] = {
    {"cpu", cpu::make_cpu_backend},
};

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  for (const Entry& entry : kBackends) {
    if (entry.name == name) return entry.make(options);
  }
  throw_error(ErrorCode::kNotFound, "backend '{}': there is {}", name, fmt::join(backend_names(), ", "));
}

ProcessorInfo processor_info() {
  const cpu::CpuFeatures features = cpu::detect_features();
  ProcessorInfo info{{}, {}, cpu::describe(features), cpu::physical_cores()};
  for (const cpu::IsaEntry& entry : cpu::isa_entries()) {
    (entry.runs(features) ? info.isas : info.others).emplace_back(entry.name);
  }
  return info;
}

}  // namespace ingle
