// What the files in this folder export: one table an instruction set. Which of them a build has is a matter of CMake.
// The block formats included here are plain data and inlined functions: what packing needs to know of them.
#pragma once

#include "backend/cpu/kernels.h"
#include "quant/fp4.h"
#include "quant/iq4.h"
#include "quant/k_scales.h"

namespace ingle::cpu {

const CpuKernels& scalar_kernels();
const CpuKernels& avx2_kernels();
const CpuKernels& avx_vnni_kernels();
const CpuKernels& avx512_vnni_kernels();
const CpuKernels& neon_dotprod_kernels();

}  // namespace ingle::cpu
