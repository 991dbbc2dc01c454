#include <fmt/format.h>

#include <boost/json.hpp>

#include "apps/ingle/ceilings_text.h"
#include "apps/ingle/doctor/diagnosis.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

constexpr int kWidth = 100, kIndent = 14;

std::string bytes(uint64_t count) { return format_bytes(static_cast<double>(count)); }

// "name          text", further lines under the text.
std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{:<{}}{}\n", name, kIndent, wrap(text, kWidth - kIndent, kIndent));
}

// Which kernels run, and why not others.
std::string kernels_text(const Diagnosis& d) {
  std::string text = d.isa;
  if (!d.isas.empty() && d.isa == d.isas.front()) {
    text += d.isas.size() == 1 ? ", the only ones this processor can run" : ", the best this processor can run";
  } else {
    text += ", as asked for";
  }
  if (d.isas.size() > 1) text += fmt::format(" (of {})", fmt::join(d.isas, ", "));
  if (!d.machine.other_isas.empty())
    text += fmt::format("; it lacks what {} need{}", fmt::join(d.machine.other_isas, ", "),
                        d.machine.other_isas.size() == 1 ? "s" : "");
  return text;
}

std::string memory_text(const MachineInfo& machine) {
  std::string text = bytes(machine.memory_bytes);
  text += machine.available_bytes > 0 ? fmt::format(", {} available", bytes(machine.available_bytes))
                                      : ", available: unknown";
  if (machine.memory_limit_bytes > 0)
    text += fmt::format(", the control group's limit is {}", bytes(machine.memory_limit_bytes));
  return text;
}

std::string huge_pages_text(const Diagnosis& d) {
  std::string text = d.system.huge_pages.value_or("unknown");
  if (!d.ceilings.empty() && d.ceilings.back().huge_pages)
    text +=
        fmt::format("; {:.0f} % of the memory that ingle asked for lay on them", 100 * *d.ceilings.back().huge_pages);
  return text;
}

std::string system_text(const SystemFacts& system) {
  std::string text = system.kernel.value_or("unknown");
  text += system.hypervisor ? fmt::format(", a virtual machine ({})", *system.hypervisor) : ", no hypervisor seen";
  if (system.emulated) text += ", emulated";
  return text;
}

std::string busy_text(const Diagnosis& d) {
  const auto percent = d.system.steal_percent;
  return fmt::format(
      "load {}, taken by other guests {}, limit {}", d.system.load ? fmt::format("{:.2f}", *d.system.load) : "unknown",
      percent ? fmt::format("{:.1f} %", *percent) : "unknown",
      d.machine.processor_limit > 0 ? fmt::format("{:.1f} processors", d.machine.processor_limit) : "none");
}

boost::json::value or_null(const std::optional<std::string>& text) {
  return text ? boost::json::value(*text) : boost::json::value(nullptr);
}
boost::json::value or_null(const std::optional<double>& number) {
  return number ? boost::json::value(*number) : boost::json::value(nullptr);
}
boost::json::value or_null(double number) {
  return number > 0 ? boost::json::value(number) : boost::json::value(nullptr);
}

boost::json::array strings(const std::vector<std::string>& list) {
  return boost::json::array(list.begin(), list.end());
}

}  // namespace

std::string to_page(const Diagnosis& d) {
  const MachineInfo& machine = d.machine;
  std::string page = fmt::format("ingle {} ({})\n\n", d.version, d.build);
  page += line("processor", printable(machine.processor));
  page += line("cores", fmt::format("{} physical, {} logical; ingle uses {} thread{}", machine.physical_cores,
                                    machine.logical_cores, d.threads, d.threads == 1 ? "" : "s"));
  page += line("features", machine.features);
  page += line("kernels", kernels_text(d));
  page +=
      line("clock", fmt::format("governor {}{}", printable(d.system.governor.value_or("unknown")),
                                d.system.clock_driver ? fmt::format(" ({})", printable(*d.system.clock_driver)) : ""));
  page += line("busy", busy_text(d));
  page += line("memory", memory_text(machine));
  page += line("huge pages", huge_pages_text(d));
  page += line("system", printable(system_text(d.system)));
  for (size_t i = 0; i < d.ceilings.size(); ++i) page += line(i == 0 ? "ceilings" : "", ceilings_line(d.ceilings[i]));
  std::vector<std::string> models;
  for (const auto& [name, size] : d.models) models.push_back(fmt::format("{} ({})", printable(name), bytes(size)));
  page += line("models", fmt::format("{}: {}", printable(d.models_folder.string()),
                                     models.empty() ? "none" : fmt::format("{}", fmt::join(models, ", "))));

  const std::vector<Advice> list = advise(d);
  page += list.empty() ? "\nNothing was found that costs speed.\n" : "\nWhat costs speed\n";
  for (const Advice& advice : list)
    page += fmt::format("- {}\n  -> {}\n", wrap(printable(advice.finding), kWidth - 2, 2), printable(advice.remedy));
  return page;
}

boost::json::object to_json(const Diagnosis& d) {
  const MachineInfo& machine = d.machine;
  boost::json::array ceilings, models, advice;
  for (const Ceilings& c : d.ceilings) {
    boost::json::object one = to_json(c);
    one["threads"] = c.threads;
    one["isa"] = c.isa;
    ceilings.push_back(std::move(one));
  }
  for (const auto& [name, size] : d.models) models.push_back({{"file", to_valid_utf8(name)}, {"bytes", size}});
  for (const Advice& a : advise(d)) advice.push_back({{"finding", a.finding}, {"remedy", a.remedy}});
  return {
      {"version", d.version},
      {"build", d.build},
      {"processor", to_valid_utf8(machine.processor)},
      {"physical_cores", machine.physical_cores},
      {"logical_cores", machine.logical_cores},
      {"threads", d.threads},
      {"features", machine.features},
      {"isa", d.isa},
      {"isas", strings(d.isas)},
      {"other_isas", strings(machine.other_isas)},
      {"memory_bytes", machine.memory_bytes},
      {"available_bytes", or_null(static_cast<double>(machine.available_bytes))},
      {"memory_limit_bytes", or_null(static_cast<double>(machine.memory_limit_bytes))},
      {"processor_limit", or_null(machine.processor_limit)},
      {"huge_pages", or_null(d.system.huge_pages)},
      {"kernel", or_null(d.system.kernel)},
      {"governor", or_null(d.system.governor)},
      {"clock_driver", or_null(d.system.clock_driver)},
      {"hypervisor", or_null(d.system.hypervisor)},
      {"emulated", d.system.emulated},
      {"steal_percent", or_null(d.system.steal_percent)},
      {"load", or_null(d.system.load)},
      {"ceilings", std::move(ceilings)},
      {"models_folder", to_valid_utf8(d.models_folder.string())},
      {"models", std::move(models)},
      {"advice", std::move(advice)},
  };
}

}  // namespace ingle::app
