// Which instruction sets a build has, and which of them a processor can run. One dispatch_<arch>.cpp per processor
// family.
#pragma once

#include <span>
#include <string_view>

#include "backend/cpu/features.h"
#include "backend/cpu/kernels.h"

namespace ingle::cpu {

using IsaKernels = const CpuKernels&();  // the one function of isa/NAME.cpp: NAME_kernels()

struct IsaEntry {
  const char* name;
  bool CpuFeatures::*needs;  // nullptr: nothing
  IsaKernels* kernels;

  bool runs(const CpuFeatures& features) const noexcept { return needs == nullptr || features.*needs; }
};

// Best first; the last one, scalar, runs anywhere.
std::span<const IsaEntry> isa_entries() noexcept;
// By name, or the best for ""; nullptr when there is none of that name that runs with these features.
const CpuKernels* select_kernels(std::string_view name, const CpuFeatures& features) noexcept;

}  // namespace ingle::cpu
