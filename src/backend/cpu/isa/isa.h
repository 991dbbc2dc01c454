// What the files in this folder are made from. Each exports one function, `const CpuKernels& NAME_kernels()`, to the
// one line that names it (dispatch_<arch>.cpp); which of them a build has is a matter of CMake. The block formats
// included here are plain data and inlined functions: what packing needs to know of them.
#pragma once

#include "backend/cpu/kernels.h"
#include "quant/format.h"
#include "quant/fp4.h"
#include "quant/iq4.h"
#include "quant/k_scales.h"
