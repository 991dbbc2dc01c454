// One page about a machine for a bug report: what is there, what ingle makes of it, and what costs speed.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/ingle/doctor/system.h"
#include "ingle/engine.h"

namespace ingle::app {

struct Advice {
  std::string finding;  // "transparent huge pages are off: ..."
  std::string remedy;   // what to do, or that there is nothing to do
};

struct Diagnosis {
  std::string version, build;
  MachineInfo machine;
  SystemFacts system;
  std::vector<std::string> isas;   // that this processor can run, best first
  std::string isa;                 // that would be used
  int threads = 0;                 // that would be used
  std::vector<Ceilings> ceilings;  // of one thread and of all; empty: not measured
  std::filesystem::path models_folder;
  std::vector<std::pair<std::string, uint64_t>> models;  // files there and their bytes
};

std::vector<Advice> advise(const Diagnosis& diagnosis);

// At most 100 columns wide.
std::string to_page(const Diagnosis& diagnosis);
boost::json::object to_json(const Diagnosis& diagnosis);

}  // namespace ingle::app
