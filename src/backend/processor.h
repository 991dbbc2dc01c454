// What the processor offers to the CPU backend.
#pragma once

#include <string>
#include <vector>

namespace ingle {

struct ProcessorInfo {
  std::vector<std::string> isas;    // that it can run, best first; the last one runs anywhere
  std::vector<std::string> others;  // that this build has and the processor lacks
  std::string features;             // "avx2 avx512 avx512_vnni"
  int physical_cores = 1;           // that this process may use; hyper-threads count once
};
ProcessorInfo processor_info();

}  // namespace ingle
