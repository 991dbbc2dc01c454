// What these kernels' instruction set, these threads and this memory reach at most.
#pragma once

#include "backend/ceilings.h"
#include "backend/cpu/kernels.h"
#include "base/thread_pool.h"

namespace ingle::cpu {

// All threads work at once, each measures what it did in a few short rounds, and the best round counts: whatever else
// runs on the machine only makes a round slower. Throws Error{kOutOfMemory} for the memory to read.
DeviceCeilings measure_ceilings(const CpuKernels& kernels, ThreadPool& pool, const CeilingProbe& probe);

}  // namespace ingle::cpu
