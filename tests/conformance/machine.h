// What every conformance test runs on: each instruction set this processor has, with one thread and with three, and the
// others through SIMDe.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/dispatch.h"
#include "backend/cpu/isa/simde.h"

namespace ingle::conformance {

struct Machine {
  std::string isa;
  const cpu::CpuKernels* kernels;
  int threads;
  bool emulated;  // slow: tests take fewer shapes

  std::unique_ptr<Backend> backend(Precision precision = Precision::kDefault) const {
    return cpu::make_cpu_backend(*kernels, threads, precision);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Machine& machine) {
  return out << machine.isa << ", " << machine.threads << " threads";
}

inline std::vector<Machine> every_machine() {
  std::vector<Machine> machines;
  const cpu::CpuFeatures features = cpu::detect_features();
  const bool slow = std::getenv("INGLE_EMULATED") != nullptr;  // the whole program is: scripts/check_neon.sh
  for (int threads : {1, 3}) {
    for (const cpu::IsaEntry& entry : cpu::isa_entries()) {
      if (entry.runs(features)) machines.push_back({entry.name, &entry.kernels(), threads, slow});
    }
  }
  for (const cpu::IsaEntry& entry : cpu::simde_entries()) machines.push_back({entry.name, &entry.kernels(), 1, true});
  return machines;
}

// "avx2_3_threads": test names have no room for brackets.
inline std::string machine_name(const testing::TestParamInfo<Machine>& info) {
  std::string name = info.param.isa;
  std::replace(name.begin(), name.end(), '(', '_');
  name.erase(std::remove(name.begin(), name.end(), ')'), name.end());
  return name + "_" + std::to_string(info.param.threads) + "_threads";
}

class OnMachine : public testing::TestWithParam<Machine> {};

}  // namespace ingle::conformance
