// What the files in this folder export: one table an instruction set. Which of them a build has is a matter of CMake.
#pragma once

#include "backend/cpu/kernels.h"

namespace ingle::cpu {

const CpuKernels& scalar_kernels();
const CpuKernels& avx2_kernels();
const CpuKernels& avx_vnni_kernels();
const CpuKernels& avx512_vnni_kernels();
const CpuKernels& neon_dotprod_kernels();

}  // namespace ingle::cpu
