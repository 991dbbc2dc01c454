// The CPU as a Backend. registry.cpp makes it; tests make it with kernels of their choice.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/dispatch.h"
#include "base/thread_pool.h"

namespace ingle::cpu {

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);
std::unique_ptr<Backend> make_cpu_backend(const CpuKernels& kernels, int threads, Precision precision);

// Cores that can work at the same time without sharing one: hyper-threads count once. At least 1.
int physical_cores();

}  // namespace ingle::cpu
